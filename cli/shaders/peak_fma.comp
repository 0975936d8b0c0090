#version 450
// Multiply-adds in registers, and nothing else: 8 chains of 4 lanes, 64 FLOPs a round and invocation.
layout(local_size_x = 64) in;
layout(push_constant) uniform Parameters { uint iterations; float factor; float addend; };
layout(std430, set = 0, binding = 0) buffer Values { vec4 values[]; };

void main() {
    const vec4 f = vec4(factor);
    const vec4 a = vec4(addend);
    vec4 c0 = f, c1 = f + 1.0, c2 = f + 2.0, c3 = f + 3.0, c4 = f + 4.0, c5 = f + 5.0, c6 = f + 6.0, c7 = f + 7.0;
    for (uint i = 0; i < iterations; i++) {
        c0 = fma(c0, f, a);
        c1 = fma(c1, f, a);
        c2 = fma(c2, f, a);
        c3 = fma(c3, f, a);
        c4 = fma(c4, f, a);
        c5 = fma(c5, f, a);
        c6 = fma(c6, f, a);
        c7 = fma(c7, f, a);
    }
    values[gl_GlobalInvocationID.x] = (c0 + c1) + (c2 + c3) + (c4 + c5) + (c6 + c7);
}
