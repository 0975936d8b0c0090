// Work whose time grows linearly with `iterations`: an xorshift loop of 65,536 invocations.
#version 450
layout(local_size_x = 64) in;
layout(push_constant) uniform Push { uint iterations; } push;
layout(std430, set = 0, binding = 0) buffer Values { uint values[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    uint x = i * 747796405u + 1u;
    for (uint k = 0; k < push.iterations; k++) {
        x ^= x << 13;
        x ^= x >> 17;
        x ^= x << 5;
    }
    values[i] = x;
}
