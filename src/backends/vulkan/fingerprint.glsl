// The fingerprint of a tensor on the device. docs/DIVERGENCE.md describes the algorithm and its errors; kernels for other
// APIs are this one in another language. Pass 0: each invocation sums the elements that are its own, each group adds its
// invocations up in a tree. Pass 1, one group: the same over the groups, and the hash of the first values.
// The order of all additions depends on the number of elements only.

layout(local_size_x = 128) in;
layout(std430, set = 0, binding = 0) readonly buffer Tensor { uint words[]; } tensor;
layout(std430, set = 0, binding = 1) buffer Partials { uint words[]; } partials;    // kRecordWords a group
layout(std430, set = 0, binding = 2) buffer Outcome { uint words[]; } outcome;      // kRecordWords
layout(push_constant) uniform Push {
    uint first;     // element of the bound range at which the tensor begins
    uint count;     // elements
    uint type;      // lapwing::DType
    uint seed;
    uint groups;    // of pass 0
    uint last_pass;
} push;

const uint kThreads = 128;
const uint kProjections = 16;
const uint kSums = 3 + kProjections;    // sum, of squares, of magnitudes; projections
const uint kRecordWords = 48;           // the sums in two words each, min, max, NaN, infinite, checksum in two, unused
const uint kMinAt = 2 * kSums;
const uint kInfinite = 0x7f800000u;

#ifdef LAPWING_DOUBLE
#define Sum double
Sum none() { return 0.0lf; }
void add(inout Sum sum, float value) { sum += double(value); }
void add_square(inout Sum sum, float value) { sum += double(value) * double(value); }
void merge(inout Sum sum, Sum other) { sum += other; }
uvec2 pack(Sum sum) { return unpackDouble2x32(sum); }
Sum unpack(uvec2 words) { return packDouble2x32(words); }
#else
// Two floats whose sum is the value: x the rounded one, y what rounding took (Knuth's two-sum, Dekker's product).
#define Sum vec2
Sum none() { return vec2(0); }
void add(inout Sum sum, float value) {
    precise float whole = sum.x + value;
    precise float moved = whole - sum.x;
    precise float kept = whole - moved;
    precise float left_of_sum = sum.x - kept;
    precise float left_of_value = value - moved;
    precise float left = left_of_sum + left_of_value;
    sum = vec2(whole, sum.y + left);
}
void add_square(inout Sum sum, float value) {
    precise float square = value * value;
    precise float scaled = 4097.0 * value;
    precise float above = scaled - value;
    precise float high = scaled - above;
    precise float low = value - high;
    precise float high_part = high * high - square;
    precise float middle = 2.0 * high * low;
    precise float error = (high_part + middle) + low * low;
    add(sum, square);
    sum.y += error;
}
void merge(inout Sum sum, Sum other) {
    add(sum, other.x);
    sum.y += other.y;
}
uvec2 pack(Sum sum) { return floatBitsToUint(sum); }
Sum unpack(uvec2 words) { return uintBitsToFloat(words); }
#endif

shared Sum tree[kThreads];
shared uvec4 others[kThreads];    // min, max as bits; NaN, infinite

// Bits of element i as f32, in integers: a device may flush small halves to zero where it converts them.
uint f32_bits(uint i) {
    uint at = push.first + i;
    if (push.type == 0u) return tensor.words[at];
    if (push.type == 3u) {
        int step = bitfieldExtract(int(tensor.words[at >> 2]), int(at & 3u) * 8, 8);
        return floatBitsToUint(float(step));
    }
    uint bits = bitfieldExtract(tensor.words[at >> 1], int(at & 1u) * 16, 16);
    if (push.type == 2u) return bits << 16;
    uint sign = (bits & 0x8000u) << 16;
    uint exponent = bits >> 10 & 31u;
    uint fraction = bits & 1023u;
    if (exponent == 31u) return sign | kInfinite | fraction << 13;
    if (exponent != 0u) return sign | (exponent + 112u) << 23 | fraction << 13;
    if (fraction == 0u) return sign;
    uint leading = uint(findMSB(fraction));
    return sign | (leading + 103u) << 23 | (fraction << (23u - leading) & 0x7fffffu);
}

uint projection_signs(uint seed, uint index) {
    uint hash = index ^ seed;
    hash = (hash ^ (hash >> 16)) * 0x7feb352du;
    hash = (hash ^ (hash >> 15)) * 0x846ca68bu;
    return hash ^ (hash >> 16);
}

// FNV-1a, 64 bits, of the first 64 values; the prime is 2^40 + 0x1b3.
uvec2 checksum() {
    uint low = 0x84222325u;
    uint high = 0xcbf29ce4u;
    uint count = min(push.count, 64u);
    for (uint i = 0; i < count; ++i) {
        uint bits = f32_bits(i);
        for (uint byte = 0; byte < 4; ++byte) {
            low ^= bits >> (8 * byte) & 255u;
            uint carry;
            uint product;
            umulExtended(low, 0x1b3u, carry, product);
            high = high * 0x1b3u + carry + (low << 8);
            low = product;
        }
    }
    return uvec2(low, high);
}

Sum sum_of_group(Sum own) {
    uint me = gl_LocalInvocationID.x;
    tree[me] = own;
    for (uint half_way = kThreads / 2; half_way > 0; half_way >>= 1) {
        barrier();
        if (me < half_way) {
            Sum sum = tree[me];
            merge(sum, tree[me + half_way]);
            tree[me] = sum;
        }
    }
    barrier();
    Sum all = tree[0];
    barrier();
    return all;
}

uvec4 others_of_group(uvec4 own) {
    uint me = gl_LocalInvocationID.x;
    others[me] = own;
    for (uint half_way = kThreads / 2; half_way > 0; half_way >>= 1) {
        barrier();
        if (me < half_way) {
            uvec4 a = others[me];
            uvec4 b = others[me + half_way];
            others[me] = uvec4(floatBitsToUint(min(uintBitsToFloat(a.x), uintBitsToFloat(b.x))),
                               floatBitsToUint(max(uintBitsToFloat(a.y), uintBitsToFloat(b.y))), a.zw + b.zw);
        }
    }
    barrier();
    return others[0];
}

void main() {
    Sum sums[kSums];
    for (uint k = 0; k < kSums; ++k) sums[k] = none();
    uvec4 rest = uvec4(kInfinite, kInfinite | 0x80000000u, 0u, 0u);
    if (push.last_pass == 0u) {
        uint stride = push.groups * kThreads;
        for (uint i = gl_GlobalInvocationID.x; i < push.count;) {
            uint bits = f32_bits(i);
            if ((bits & kInfinite) == kInfinite) {
                if ((bits & 0x7fffffu) != 0u) ++rest.z; else ++rest.w;
            } else {
                float value = uintBitsToFloat(bits);
                add(sums[0], value);
                add_square(sums[1], value);
                add(sums[2], abs(value));
                rest.x = floatBitsToUint(min(uintBitsToFloat(rest.x), value));
                rest.y = floatBitsToUint(max(uintBitsToFloat(rest.y), value));
                uint signs = projection_signs(push.seed, i);
                for (uint k = 0; k < kProjections; ++k)
                    add(sums[3 + k], uintBitsToFloat(bits ^ (signs >> k & 1u) << 31));
            }
            if (push.count - i <= stride) break;    // i + stride may be beyond 2^32
            i += stride;
        }
    } else if (gl_LocalInvocationID.x < push.groups) {
        uint base = gl_LocalInvocationID.x * kRecordWords;
        for (uint k = 0; k < kSums; ++k)
            sums[k] = unpack(uvec2(partials.words[base + 2 * k], partials.words[base + 2 * k + 1]));
        for (uint k = 0; k < 4; ++k) rest[k] = partials.words[base + kMinAt + k];
    }
    uint base = push.last_pass == 0u ? gl_WorkGroupID.x * kRecordWords : 0u;
    bool writes = gl_LocalInvocationID.x == 0u;
    for (uint k = 0; k < kSums; ++k) {
        uvec2 words = pack(sum_of_group(sums[k]));
        if (!writes) continue;
        for (uint half_word = 0; half_word < 2; ++half_word) {
            if (push.last_pass == 0u)
                partials.words[base + 2 * k + half_word] = words[half_word];
            else
                outcome.words[2 * k + half_word] = words[half_word];
        }
    }
    rest = others_of_group(rest);
    if (!writes) return;
    for (uint k = 0; k < 4; ++k) {
        if (push.last_pass == 0u)
            partials.words[base + kMinAt + k] = rest[k];
        else
            outcome.words[kMinAt + k] = rest[k];
    }
    if (push.last_pass == 0u) return;
    uvec2 hash = checksum();
    outcome.words[kMinAt + 4] = hash.x;
    outcome.words[kMinAt + 5] = hash.y;
}
