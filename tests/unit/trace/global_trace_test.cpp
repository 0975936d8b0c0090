// The process's trace: off without a path, explicit flush, nothing lost by a second one.
#include "lapwing/global_trace.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>

#include "lapwing/probe_timer.hpp"
#include "lapwing/sim_backend.hpp"
#include "unit/trace/trace_material.hpp"

namespace lapwing::test {
namespace {

std::size_t count(const std::string& text, const std::string& part) {
    std::size_t found = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
    return found;
}

void probe(TimerPool<SimBackend>& pool, const char* name) {
    auto timer = start_probe_timer_if(true, pool);
    finish_probe_timer_traced(timer, global_trace(), name, "attention", 3);
    pool.collect();
}

TEST(GlobalTrace, IsOffWithoutAPath) {
    ::unsetenv("LAPWING_TRACE_OUT");
    EXPECT_TRUE(open_global_trace(trace_config_from_env()).ok());
    EXPECT_EQ(global_trace(), nullptr);
    ::setenv("LAPWING_TRACE_OUT", "", 1);
    EXPECT_TRUE(open_global_trace(trace_config_from_env()).ok());
    EXPECT_EQ(global_trace(), nullptr);
    EXPECT_TRUE(flush_global_trace().ok());
    EXPECT_TRUE(close_global_trace().ok());
}

TEST(GlobalTrace, ReadsNoEnvironmentByItself) {
    const TemporaryFile file;
    ::setenv("LAPWING_TRACE_OUT", file.path().c_str(), 1);
    EXPECT_EQ(global_trace(), nullptr);
    EXPECT_TRUE(open_global_trace({}).ok());
    EXPECT_EQ(global_trace(), nullptr);
}

TEST(GlobalTrace, SecondFlushKeepsWhatTheFirstWrote) {
    const TemporaryFile file;
    ::setenv("LAPWING_TRACE_OUT", file.path().c_str(), 1);
    ASSERT_TRUE(open_global_trace(trace_config_from_env()).ok());
    ASSERT_NE(global_trace(), nullptr);
    EXPECT_EQ(open_global_trace(trace_config_from_env()).error().code, Errc::kInvalidArgument);
    SimBackend backend;
    TimerPool<SimBackend> pool(backend, {0}, {.now = SimBackend::host_clock, .now_context = &backend});
    for (const char* const name : {"first", "second", "third"}) {
        probe(pool, name);
        ASSERT_TRUE(flush_global_trace().ok());
        EXPECT_EQ(count(file.content(), std::string("\"name\":\"") + name), 1u);
        EXPECT_EQ(file.content().substr(file.content().size() - 2), "]\n") << "whole after each flush";
    }
    EXPECT_EQ(count(file.content(), "\"ph\":\"X\""), 3u);
    ProbeTrace* const earlier = global_trace();
    ASSERT_TRUE(close_global_trace().ok());
    EXPECT_EQ(global_trace(), nullptr);
    TimerReading late;
    late.state = TimerState::kReady;
    earlier->add({}, late);
    EXPECT_EQ(earlier->lost()[LossReason::kAbandoned], 1u) << "counted, and no fault";
    EXPECT_EQ(count(file.content(), "\"ph\":\"X\""), 3u);
}

TEST(GlobalTrace, UnwritablePathIsNamed) {
    GlobalTraceConfig config;
    config.path = "/nonexistent/trace.json";
    EXPECT_NE(open_global_trace(config).error().message.find(config.path), std::string::npos);
    EXPECT_EQ(global_trace(), nullptr);
}

}    // namespace
}    // namespace lapwing::test
