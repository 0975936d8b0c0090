#!/usr/bin/env python3
"""Checks in the assembly what a span costs while the level is off: one load of the level, no call, no clock.

usage: off_path.py COMPILER INCLUDE_DIR SOURCE [FLAG ...]
Compiles SOURCE with each of -O2 and -O3, walks every function from its entry to its return as the processor does when
the level is 0, and counts what lies on that way. Exits with 1 where a promise is broken, with 77 where the assembly is
not x86-64's.

A shared library reaches the level through the GOT, which is one load more: give -fPIC to see it.
"""
import platform
import re
import subprocess
import sys

LEVEL = "_ZN7lapwing6detail7g_levelE"
# function in off_path.cpp: (loads of the level, calls of the program's own)
EXPECTED = {
    "_Z14span_by_numberj": (1, 0),
    "_Z12span_by_nameRN7lapwing8HostSiteE": (1, 0),
    "_Z13span_by_macrov": (1, 0),
    "_Z9two_spansj": (2, 0),
    "_Z16span_around_callj": (1, 1),
    "_Z3lapRN7lapwing8BasicLapINS_6detail8HostTickEEEj": (1, 0),
    "_Z10hub_tokensRN7lapwing9TelemetryE": (1, 0),
}
MAX_STEPS = 500


def family(register):
    """rax for %al, %eax, %rax: the register that a name is part of."""
    name = register.strip("%")
    numbered = re.match(r"(r\d+)[bwd]?$", name)
    if numbered:
        return numbered.group(1)
    return {"a": "rax", "b": "rbx", "c": "rcx", "d": "rdx", "si": "rsi", "di": "rdi", "bp": "rbp", "sp": "rsp"}.get(
        re.sub(r"^[re]|[xlh]$", "", name), name)


class Walk:
    """The way through one function with the level off."""

    def __init__(self, lines, labels):
        self.lines, self.labels = lines, labels
        # Registers that hold 0: the level that was loaded, the begin of a span that was not begun.
        self.zero_registers, self.level_pointers = set(), set()
        self.zero_flag = None    # None = not known
        self.loads = self.branches = self.pushes = 0
        self.calls, self.clocks, self.globals = [], [], []

    def is_level(self, operand):
        pointer = re.fullmatch(r"\((%\w+)\)", operand)
        return (LEVEL in operand and "GOT" not in operand) or \
               (pointer is not None and family(pointer.group(1)) in self.level_pointers)

    def step(self, op, operands):
        """Takes note of one instruction that is no jump."""
        self.clocks += [op] * op.startswith("rdtsc")
        self.pushes += op.startswith("push")
        if op.startswith("call"):
            self.calls.append(operands[0])
            self.zero_flag = None
            self.zero_registers &= {"rbx", "rbp", "r12", "r13", "r14", "r15"}    # a callee keeps these
            return
        target = family(operands[-1]) if operands and operands[-1].startswith("%") else None
        source = operands[0] if operands else ""
        if any(self.is_level(operand) for operand in operands):
            self.loads += 1
            if op.startswith("cmpb") and source == "$0":
                self.zero_flag = True
            elif op.startswith("mov"):
                self.zero_registers.add(target)
            return
        if LEVEL in source and op.startswith("mov"):
            self.level_pointers.add(target)
            return
        same = source.startswith("%") and family(source) == target
        if op.startswith("test") and same and target in self.zero_registers:
            self.zero_flag = True
            return
        if op.startswith(("test", "cmp", "add", "sub", "xor", "and", "or", "sal", "shl", "shr")):
            self.zero_flag = None
        if op.startswith("xor") and same:
            self.zero_registers.add(target)
        elif op.startswith(("mov", "xor", "pop", "lea", "add", "sub", "or")):
            copied = op.startswith("mov") and source.startswith("%") and family(source) in self.zero_registers
            (self.zero_registers.add if copied else self.zero_registers.discard)(target)
            self.level_pointers.discard(target)
        # Reading another global is a cost too; taking an address (lea) is not.
        if not op.startswith("lea") and re.search(r"\(%rip\)|@", " ".join(operands)):
            self.globals.append(f"{op} {','.join(operands)}")

    def run(self, name):
        at = self.labels[name]
        for _ in range(MAX_STEPS):
            op, operands = self.lines[at]
            if op.startswith("ret"):
                return
            if op == "jmp" and operands[0] in self.labels:
                at = self.labels[operands[0]]
            elif op == "jmp":
                self.calls.append(operands[0])    # a call in tail position
                return
            elif op in ("je", "jne", "jz", "jnz"):
                self.branches += 1
                if self.zero_flag is None:
                    raise ValueError(f"{op} depends on more than the level")
                taken = self.zero_flag == (op in ("je", "jz"))
                at = self.labels[operands[0]] if taken else at + 1
            elif op.startswith("j"):
                raise ValueError(f"{op} depends on more than the level")
            else:
                self.step(op, operands)
                at += 1
        raise ValueError("no end was found")


def split(text):
    """Operands at commas that are not within parentheses."""
    return [part.strip() for part in re.split(r",(?![^(]*\))", text)] if text else []


def assembly(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} failed:\n{done.stderr}")
    lines, labels, in_asm = [], {}, False
    for raw in done.stdout.splitlines():
        line = raw.split("#", 1)[0].strip() if not in_asm else raw.strip()
        if not line:
            continue
        label = re.fullmatch(r"([\w.$]+):", line)
        if label:
            labels[label.group(1)] = len(lines)
        elif not line.startswith("."):
            op, _, rest = line.partition("\t")
            if not rest:
                op, _, rest = line.partition(" ")
            lines.append((op, split(rest.strip())))
    return lines, labels


def check(name, lines, labels):
    """Complaints about one function, and what was found."""
    loads, own_calls = EXPECTED[name]
    walk = Walk(lines, labels)
    try:
        walk.run(name)
    except (ValueError, KeyError) as error:
        return [str(error)], ""
    complaints = []
    if walk.loads != loads:
        complaints.append(f"{walk.loads} loads of the level, expected {loads}")
    if len(walk.calls) != own_calls or any(call.split("@")[0] != "_Z4bodyv" for call in walk.calls):
        complaints.append(f"calls: {walk.calls or 'none'}, expected {own_calls}")
    if walk.clocks:
        complaints.append("the clock is read")
    if walk.globals:
        complaints.append(f"other globals: {walk.globals}")
    if walk.branches > 2 * loads:
        complaints.append(f"{walk.branches} branches, at most 2 a span")
    return complaints, f"loads {walk.loads}, branches {walk.branches}, calls {len(walk.calls)}, pushes {walk.pushes}"


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    if platform.machine() not in ("x86_64", "AMD64"):
        print("off_path.py reads x86-64 assembly only")
        sys.exit(77)
    compiler, include, source, flags = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]
    failed = False
    for level in ("-O2", "-O3"):
        lines, labels = assembly([compiler, "-std=c++20", level, "-DNDEBUG", f"-I{include}", *flags, "-S", "-o", "-", source])
        for name in EXPECTED:
            complaints, found = check(name, lines, labels)
            failed |= bool(complaints)
            print(f"{level} {name}: {found} " + ("FAILED: " + "; ".join(complaints) if complaints else "ok"))
    sys.exit(failed)


main()
