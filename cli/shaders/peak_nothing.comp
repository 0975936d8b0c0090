#version 450
// A dispatch of nothing: what a launch takes.
layout(local_size_x = 1) in;
layout(push_constant) uniform Parameters { uint iterations; float factor; float addend; };

void main() {}
