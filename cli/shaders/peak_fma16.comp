#version 450
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
// As peak_fma.comp, in half precision.
layout(local_size_x = 64) in;
layout(push_constant) uniform Parameters { uint iterations; float factor; float addend; };
layout(std430, set = 0, binding = 0) buffer Values { vec4 values[]; };

void main() {
    const f16vec4 f = f16vec4(factor);
    const f16vec4 a = f16vec4(addend);
    const f16vec4 one = f16vec4(1.0);
    f16vec4 c0 = f, c1 = f + one, c2 = c1 + one, c3 = c2 + one, c4 = c3 + one, c5 = c4 + one, c6 = c5 + one,
            c7 = c6 + one;
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
    values[gl_GlobalInvocationID.x] = vec4((c0 + c1) + (c2 + c3) + (c4 + c5) + (c6 + c7));
}
