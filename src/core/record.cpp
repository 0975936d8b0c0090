#include "lapwing/record.hpp"

namespace lapwing {

const char* to_text(SpanKind kind) noexcept {
    switch (kind) {
        case SpanKind::kDispatch:
            return "dispatch";
        case SpanKind::kCopy:
            return "copy";
        case SpanKind::kFill:
            return "fill";
        case SpanKind::kRender:
            return "render";
        case SpanKind::kHost:
            return "host";
    }
    return "unknown";
}

}    // namespace lapwing
