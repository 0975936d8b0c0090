#version 450
layout(location = 0) flat in uint rounds;
layout(location = 0) out vec4 color;

void main() {
    uint x = uint(gl_FragCoord.x) * 747796405u + uint(gl_FragCoord.y) + 1u;
    for (uint i = 0; i < rounds; i++) {
        x ^= x << 13;
        x ^= x >> 17;
        x ^= x << 5;
    }
    color = vec4(float(x & 255u) / 255.0);
}
