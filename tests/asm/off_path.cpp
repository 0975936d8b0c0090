// What off_path.py reads the assembly of: the smallest functions that hold a span. Not linked, not run.
#include "lapwing/span.hpp"
#include "lapwing/telemetry.hpp"

void body();

void span_by_number(lapwing::SiteId site) {
    const lapwing::Span span(site);
    asm volatile("" ::: "memory");
}

void span_by_name(lapwing::HostSite& site) {
    const lapwing::Span span(site);
    asm volatile("" ::: "memory");
}

void span_by_macro() {
    LAPWING_SPAN("op");
    asm volatile("" ::: "memory");
}

void two_spans(lapwing::SiteId site) {
    {
        const lapwing::Span span(site);
        asm volatile("" ::: "memory");
    }
    const lapwing::Span span(site);
    asm volatile("" ::: "memory");
}

void span_around_call(lapwing::SiteId site) {
    const lapwing::Span span(site);
    body();
}

void lap(lapwing::Lap& laps, lapwing::SiteId site) {
    laps.lap(site);
}

void hub_tokens(lapwing::Telemetry& hub) {
    hub.tokens(lapwing::TokenKind::kGenerated, 1);
}
