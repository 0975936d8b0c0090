// Uses something of each library that it links: reads the recording named on the command line and prints its rows.
#include <cstdio>
#include <memory>

#include "lapwing/lapwing.hpp"

int main(int argc, char** argv) {
    if (argc != 2) return 2;
    lapwing::set_level(lapwing::Level::kBasic);
    const std::unique_ptr<lapwing::ReportBuilder> builder = lapwing::make_report_builder();
    const lapwing::Result<lapwing::ReadSummary> read = lapwing::read_perfetto(argv[1], *builder);
    if (!read) {
        std::fprintf(stderr, "%s\n", read.error().message.c_str());
        return 1;
    }
    const lapwing::Report report = builder->build();
    std::printf("level %s, %zu bytes of text\n", lapwing::to_text(lapwing::level()), lapwing::to_text(report).size());
    for (const lapwing::ReportRow& row : report.rows)
        std::printf("%s %llu\n", row.name.c_str(), static_cast<unsigned long long>(row.spans.count));
    return 0;
}
