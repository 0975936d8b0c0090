// Sums in pairs of floats, on every device.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "fingerprint.glsl"
