// Sums in doubles, where the device has them.
#version 450
#extension GL_GOOGLE_include_directive : require
#define LAPWING_DOUBLE
#include "fingerprint.glsl"
