#version 450
// One triangle that covers the target; its fragments work `iterations` rounds.
layout(push_constant) uniform Parameters { uint iterations; };
layout(location = 0) flat out uint rounds;

void main() {
    vec2 corner = vec2((gl_VertexIndex << 1) & 2, gl_VertexIndex & 2);
    rounds = iterations;
    gl_Position = vec4(corner * 2.0 - 1.0, 0.0, 1.0);
}
