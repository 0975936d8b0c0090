#!/usr/bin/env python3
"""Write a valid llama-architecture GGUF with random weights. Standard library only.

  gen_gguf.py OUT.gguf [--vocab ggml-vocab-llama-spm.gguf] [--dim 288 --layers 6 --heads 6 --kv-heads 6 --ff 768]
              [--ctx 512] [--experts 8 --experts-used 2] [--type f32|f16|q8_0|q4_0] [--seed 1]

Without --vocab it writes a 259-token byte vocabulary (<unk> <s> </s> + 256 byte tokens).
With --vocab it copies the tokenizer.* keys of another GGUF unchanged (llama.cpp's sources have vocabulary-only files
under models/ggml-vocab-*.gguf). Weights are a function of --seed alone, so two runs give the same bytes.
"""
import argparse
import io
import random
import struct

U8, I8, U16, I16, U32, I32, F32, BOOL, STR, ARR, U64, I64, F64 = range(13)
FIX = {U8: 1, I8: 1, U16: 2, I16: 2, U32: 4, I32: 4, F32: 4, BOOL: 1, U64: 8, I64: 8, F64: 8}
TYPES = {"f32": 0, "f16": 1, "q4_0": 2, "q8_0": 8}
FTYPE = {"f32": 0, "f16": 1, "q4_0": 2, "q8_0": 7}
ALIGN = 32


def s(x):
    b = x.encode()
    return struct.pack("<Q", len(b)) + b


def kv_u32(k, v): return s(k) + struct.pack("<II", U32, v)
def kv_f32(k, v): return s(k) + struct.pack("<If", F32, v)
def kv_str(k, v): return s(k) + struct.pack("<I", STR) + s(v)
def kv_bool(k, v): return s(k) + struct.pack("<IB", BOOL, int(v))


def skip_value(b, o, t):
    """Offset just past one value of type t at o."""
    if t == STR:
        (n,) = struct.unpack_from("<Q", b, o)
        return o + 8 + n
    if t == ARR:
        et, n = struct.unpack_from("<IQ", b, o)
        o += 12
        if et in FIX:
            return o + FIX[et] * n
        for _ in range(n):
            o = skip_value(b, o, et)
        return o
    return o + FIX[t]


def copy_vocab(path):
    """(raw kv bytes, number of kvs, vocabulary size) of every tokenizer.* key in a GGUF."""
    b = open(path, "rb").read()
    assert b[:4] == b"GGUF", path
    ver, nt, nkv = struct.unpack_from("<IQQ", b, 4)
    assert ver in (2, 3), ver
    o, out, cnt, nv = 24, io.BytesIO(), 0, 0
    for _ in range(nkv):
        start = o
        (n,) = struct.unpack_from("<Q", b, o)
        key = b[o + 8:o + 8 + n].decode()
        o += 8 + n
        (t,) = struct.unpack_from("<I", b, o)
        if key == "tokenizer.ggml.tokens":
            (nv,) = struct.unpack_from("<Q", b, o + 8)
        o = skip_value(b, o + 4, t)
        if key.startswith("tokenizer."):
            out.write(b[start:o])
            cnt += 1
    return out.getvalue(), cnt, nv


def byte_vocab():
    toks = ["<unk>", "<s>", "</s>"] + ["<0x%02X>" % i for i in range(256)]
    types = [2, 3, 3] + [6] * 256
    o = io.BytesIO()
    o.write(kv_str("tokenizer.ggml.model", "llama"))
    o.write(s("tokenizer.ggml.tokens") + struct.pack("<IIQ", ARR, STR, len(toks)) + b"".join(map(s, toks)))
    o.write(s("tokenizer.ggml.scores") + struct.pack("<IIQ", ARR, F32, len(toks)) + struct.pack("<%df" % len(toks), *([0.0] * len(toks))))
    o.write(s("tokenizer.ggml.token_type") + struct.pack("<IIQ", ARR, I32, len(toks)) + struct.pack("<%di" % len(toks), *types))
    o.write(kv_u32("tokenizer.ggml.bos_token_id", 1) + kv_u32("tokenizer.ggml.eos_token_id", 2) + kv_u32("tokenizer.ggml.unknown_token_id", 0))
    return o.getvalue(), 7, len(toks)


def mask(rnd, n, and_, or_):
    """n random bytes with a repeating and/or pattern applied (big-integer arithmetic, so it is quick)."""
    k = len(and_)
    assert n % k == 0
    a = int.from_bytes(and_ * (n // k), "little")
    r = int.from_bytes(or_ * (n // k), "little")
    return ((int.from_bytes(rnd.randbytes(n), "little") & a) | r).to_bytes(n, "little")


def weights(rnd, n, typ):
    """n random values, each of magnitude 2^-5..2^-4 and random sign, in the given type."""
    if typ == "f32":   # exponent byte pattern of 2^-5: 0x3d00_0000
        return mask(rnd, 4 * n, b"\xff\xff\x7f\x80", b"\x00\x00\x00\x3d")
    if typ == "f16":   # 2^-5 = 0x2800
        return mask(rnd, 2 * n, b"\xff\x83", b"\x00\x28")
    assert n % 32 == 0
    if typ == "q8_0":  # f16 scale 2^-11, 32 signed bytes
        return mask(rnd, 34 * (n // 32), b"\x00\x00" + b"\xff" * 32, b"\x00\x10" + b"\x00" * 32)
    if typ == "q4_0":  # f16 scale 2^-7, 16 bytes of nibbles
        return mask(rnd, 18 * (n // 32), b"\x00\x00" + b"\xff" * 16, b"\x00\x20" + b"\x00" * 16)
    raise ValueError(typ)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("out")
    p.add_argument("--vocab")
    p.add_argument("--dim", type=int, default=288)
    p.add_argument("--layers", type=int, default=6)
    p.add_argument("--heads", type=int, default=6)
    p.add_argument("--kv-heads", type=int)
    p.add_argument("--ff", type=int, default=768)
    p.add_argument("--ctx", type=int, default=512)
    p.add_argument("--type", choices=list(TYPES), default="f16")
    p.add_argument("--experts", type=int, default=0, help="mixture of experts: this many per layer (0: dense)")
    p.add_argument("--experts-used", type=int, default=2)
    p.add_argument("--seed", type=int, default=1)
    a = p.parse_args()
    kvh = a.kv_heads or a.heads
    hd = a.dim // a.heads
    tok, ntok, nv = copy_vocab(a.vocab) if a.vocab else byte_vocab()
    kvs = [
        kv_str("general.architecture", "llama"), kv_str("general.name", "random-llama"),
        kv_u32("general.file_type", FTYPE[a.type]), kv_u32("general.alignment", ALIGN),
        kv_u32("llama.vocab_size", nv), kv_u32("llama.context_length", a.ctx),
        kv_u32("llama.embedding_length", a.dim), kv_u32("llama.block_count", a.layers),
        kv_u32("llama.feed_forward_length", a.ff), kv_u32("llama.rope.dimension_count", hd),
        kv_u32("llama.attention.head_count", a.heads), kv_u32("llama.attention.head_count_kv", kvh),
        kv_f32("llama.attention.layer_norm_rms_epsilon", 1e-5), kv_f32("llama.rope.freq_base", 10000.0),
    ]
    if a.experts:
        kvs += [kv_u32("llama.expert_count", a.experts), kv_u32("llama.expert_used_count", a.experts_used)]
    t = [("token_embd.weight", (a.dim, nv), a.type), ("output_norm.weight", (a.dim,), "norm"), ("output.weight", (a.dim, nv), a.type)]
    for i in range(a.layers):
        b = "blk.%d." % i
        t += [(b + "attn_norm.weight", (a.dim,), "norm"), (b + "attn_q.weight", (a.dim, a.heads * hd), a.type),
              (b + "attn_k.weight", (a.dim, kvh * hd), a.type), (b + "attn_v.weight", (a.dim, kvh * hd), a.type),
              (b + "attn_output.weight", (a.heads * hd, a.dim), a.type), (b + "ffn_norm.weight", (a.dim,), "norm")]
        x, n = ("_exps", (a.experts,)) if a.experts else ("", ())
        if a.experts:
            t += [(b + "ffn_gate_inp.weight", (a.dim, a.experts), "f32")]
        t += [(b + "ffn_gate%s.weight" % x, (a.dim, a.ff) + n, a.type), (b + "ffn_up%s.weight" % x, (a.dim, a.ff) + n, a.type),
              (b + "ffn_down%s.weight" % x, (a.ff, a.dim) + n, a.type)]
    rnd = random.Random(a.seed)
    infos, blobs, off = io.BytesIO(), [], 0
    for name, ne, typ in t:
        n = 1
        for d in ne:
            n *= d
        data = struct.pack("<f", 1.0) * n if typ == "norm" else weights(rnd, n, typ)
        infos.write(s(name) + struct.pack("<I", len(ne)) + struct.pack("<%dQ" % len(ne), *ne)
                    + struct.pack("<IQ", TYPES["f32" if typ == "norm" else typ], off))
        blobs.append(data)
        off += (len(data) + ALIGN - 1) // ALIGN * ALIGN
    head = b"GGUF" + struct.pack("<IQQ", 3, len(t), len(kvs) + ntok) + b"".join(kvs) + tok + infos.getvalue()
    with open(a.out, "wb") as f:
        f.write(head)
        f.write(b"\0" * (-len(head) % ALIGN))
        for d in blobs:
            f.write(d)
            f.write(b"\0" * (-len(d) % ALIGN))


if __name__ == "__main__":
    main()
