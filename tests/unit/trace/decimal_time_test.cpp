// Times as text.
#include "trace/decimal_time.hpp"

#include <gtest/gtest.h>

#include <clocale>
#include <cstdint>
#include <optional>

namespace lapwing::trace {
namespace {

TEST(DecimalTime, KeepsEveryNanosecondOfAbsoluteTimes) {
    // A double of this size is 256 ns wide.
    EXPECT_EQ(ns_of_microseconds("1661938466265032.125"), 1661938466265032125);
    EXPECT_EQ(ns_of_microseconds("1661938466265032"), 1661938466265032000);
    EXPECT_EQ(ns_of_microseconds("9223372036854775.807"), INT64_MAX);
}

TEST(DecimalTime, RoundsHalfAwayFromZeroBehindTheNanosecond) {
    EXPECT_EQ(ns_of_microseconds("0.0004999999999999999999999999"), 0);
    EXPECT_EQ(ns_of_microseconds("0.0005"), 1);
    EXPECT_EQ(ns_of_microseconds("-0.0005"), -1);
    EXPECT_EQ(ns_of_microseconds("1.23449"), 1234);
    EXPECT_EQ(ns_of_microseconds("0.9999"), 1000);
    EXPECT_EQ(ns_of_microseconds("9223372036854775.8074"), INT64_MAX);
}

TEST(DecimalTime, ReadsEveryFormOfAJsonNumber) {
    EXPECT_EQ(ns_of_microseconds("1.5e3"), 1500000);
    EXPECT_EQ(ns_of_microseconds("12E-1"), 1200);
    EXPECT_EQ(ns_of_microseconds("25e+0"), 25000);
    EXPECT_EQ(ns_of_microseconds("0e99999999999"), 0);
    EXPECT_EQ(ns_of_microseconds("1e-99999999999"), 0);
    EXPECT_EQ(ns_of_microseconds("-7"), -7000);
    EXPECT_EQ(ns_of_microseconds("1.1"), 1100);
    EXPECT_EQ(ns_of_microseconds("0000000000000000000001"), 1000);
}

TEST(DecimalTime, RefusesWhatIsNoNumberOrTooLarge) {
    for (const char* text : {"", "-", ".", "1e", "1e+", "1,5", "1.5.2", "NaN", "Infinity", "0x10", "1 ", " 1", "true",
                             "--1", "9223372036854775.808", "1e300", "99999999999999999999999"}) {
        EXPECT_EQ(ns_of_microseconds(text), std::nullopt) << text;
    }
}

TEST(DecimalTime, DoesNotDependOnTheLocale) {
    const char* const set = std::setlocale(LC_NUMERIC, "de_DE.UTF-8");
    EXPECT_EQ(ns_of_microseconds("1.250"), 1250) << (set == nullptr ? "(no German locale here)" : set);
    EXPECT_EQ(ns_of_microseconds("1,250"), std::nullopt);
    std::setlocale(LC_NUMERIC, "C");
}

}    // namespace
}    // namespace lapwing::trace
