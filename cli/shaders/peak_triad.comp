#version 450
// a = b + s c: 48 bytes of traffic an invocation and round. An element belongs to one invocation of the whole dispatch.
layout(local_size_x = 64) in;
layout(push_constant) uniform Parameters { uint iterations; float factor; float addend; };
layout(std430, set = 0, binding = 0) writeonly buffer To { vec4 to[]; };
layout(std430, set = 0, binding = 1) readonly buffer First { vec4 first[]; };
layout(std430, set = 0, binding = 2) readonly buffer Second { vec4 second[]; };

void main() {
    const uint stride = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
    uint at = gl_GlobalInvocationID.x;
    for (uint i = 0; i < iterations; i++) {
        to[at] = first[at] + factor * second[at];
        at += stride;
    }
}
