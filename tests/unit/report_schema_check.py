"""Checks the approved JSON reports against docs/report.schema.json, and that the schema refuses what it should.

usage: report_schema_check.py SCHEMA REPORT...      exit codes: 0 fine, 1 a finding, 77 skipped
"""
import copy
import json
import sys

try:
    import jsonschema
except ImportError:
    print("SKIPPED: python3 has no module jsonschema (Debian: python3-jsonschema)")
    sys.exit(77)


def row_order(by):
    """Layers and steps by their number, what belongs to none last; all others by total, then name."""
    if by in ("layer", "step"):
        return lambda row: (not row["name"].isdigit(), int(row["name"]) if row["name"].isdigit() else 0)
    return lambda row: (-row["total_ns"], row["name"])


def findings(report, validator):
    """What is wrong with one report, as sentences."""
    for error in validator.iter_errors(report):
        yield f"{'/'.join(map(str, error.absolute_path))}: {error.message}"
    if report["begun"] is not None and report["begun"] != report["spans"] + report["estimated"] + report["lost"]["total"]:
        yield "begun is not spans + estimated + lost"
    if report["lost"]["total"] is not None and report["lost"]["total"] != sum(report["lost"]["by_reason"].values()):
        yield "lost is not the sum of its reasons"
    rows = report["rows"]
    if rows != sorted(rows, key=row_order(report["by"])):
        yield "rows are not in their order"
    if report["total_ns"] != sum(row["total_ns"] for row in rows) + report["rows_left_out"]["total_ns"]:
        yield "total_ns is not the sum of the rows"
    steps = report["steps"]
    if steps["count"] != steps["gpu"]["count"] + steps["with_warmup"] + steps["not_armed"] + steps["cut"] + \
            steps["untimed"]:
        yield "steps do not add up"


def spoiled(report):
    """Reports that must be refused, each spoiled in one way."""
    def change(path, value):
        out = copy.deepcopy(report)
        place = out
        for key in path[:-1]:
            place = place[key]
        if value is None:
            del place[path[-1]]
        else:
            place[path[-1]] = value
        return out

    yield "another schema", change(["schema"], "lapwing.report/2")
    yield "a missing key", change(["busy_ns"], None)
    yield "a fraction of a nanosecond", change(["total_ns"], 0.5)
    yield "a negative time", change(["window_ns"], -1)
    yield "an unknown reason", change(["lost", "by_reason"], {"gremlins": 3})
    yield "an unknown key", change(["surprise"], 1)
    if report["rows"]:
        yield "an unknown kind", change(["rows", 0, "kind"], "kernel")
        yield "a share above one", change(["rows", 0, "share"], 1.5)


def main(schema_path, report_paths):
    with open(schema_path, encoding="utf-8") as file:
        schema = json.load(file)
    jsonschema.Draft7Validator.check_schema(schema)
    validator = jsonschema.Draft7Validator(schema)
    bad = 0
    for path in report_paths:
        with open(path, encoding="utf-8") as file:
            report = json.load(file)
        for finding in findings(report, validator):
            print(f"{path}: {finding}")
            bad += 1
        for what, changed in spoiled(report):
            if validator.is_valid(changed):
                print(f"{path}: the schema takes {what}")
                bad += 1
    print(f"{len(report_paths)} reports, {bad} findings")
    return 1 if bad or not report_paths else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
