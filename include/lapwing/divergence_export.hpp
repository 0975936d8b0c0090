// What two runs differ in, as text for people and as JSON.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "lapwing/divergence.hpp"

namespace lapwing {

/// One of the two runs, for the words around the figures.
struct ComparedRun {
    std::string name;             ///< of the file
    uint64_t fingerprints = 0;    ///< that it has
    uint64_t dropped = 0;         ///< taken and not recorded
    uint64_t left_out = 0;        ///< recorded in parts that are gone
};

/// The verdict, the brick where it began with both sides' figures, what else is wrong, what only one run has.
/// Shape:   ends with a line break. Lists stop after `most_rows` with a count of the rest. Names are printable, as in
///          reports.
[[nodiscard]] std::string to_text(const DivergenceReport& report, const ComparedRun& reference,
                                  const ComparedRun& candidate, std::size_t most_rows = 20);

/// Everything; schema "lapwing.divergence/1" (docs/divergence.schema.json).
/// Shape:   the same report gives the same text. Unknown, and what is no number, is null; hashes are hex text.
[[nodiscard]] std::string to_json(const DivergenceReport& report, const ComparedRun& reference,
                                  const ComparedRun& candidate);

}    // namespace lapwing
