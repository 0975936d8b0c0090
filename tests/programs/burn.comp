#version 450
// Work whose length is a number: `iterations` rounds of xorshift per invocation.
layout(local_size_x = 64) in;
layout(push_constant) uniform Parameters { uint iterations; };
layout(std430, set = 0, binding = 0) buffer Values { uint values[]; };

void main() {
    uint x = gl_GlobalInvocationID.x * 747796405u + 1u;
    for (uint i = 0; i < iterations; i++) {
        x ^= x << 13;
        x ^= x >> 17;
        x ^= x << 5;
    }
    values[gl_GlobalInvocationID.x] = x;
}
