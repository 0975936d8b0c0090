#include "trace/utf8.hpp"

#include <gtest/gtest.h>

namespace lapwing::trace {
namespace {

// pytorch#136040, kineto#988, TraceLens#1035: names that are not UTF-8 make a trace unreadable. [field cases C2, C4]
TEST(Utf8, InvalidBytesBecomeOneReplacementPerMaximalSubpart) {
    const std::string bad = "\xef\xbf\xbd";
    EXPECT_EQ(to_valid_utf8("\xff\xfe"), bad + bad);
    EXPECT_EQ(to_valid_utf8("a\x80z"), "a" + bad + "z");
    EXPECT_EQ(to_valid_utf8("\xf0\x9f\x98"), bad);                          // cut off: one subpart
    EXPECT_EQ(to_valid_utf8("\xf0\x9f\x98x"), bad + "x");                   // cut off by another character
    EXPECT_EQ(to_valid_utf8("\xed\xa0\x80"), bad + bad + bad);              // surrogate: no valid beginning
    EXPECT_EQ(to_valid_utf8("\xc0\xaf"), bad + bad);                        // overlong
    EXPECT_EQ(to_valid_utf8("\xf4\x90\x80\x80"), bad + bad + bad + bad);    // above U+10FFFF
    EXPECT_EQ(to_valid_utf8("\xe1\x80\xe2\xf0\x91\x92\xf1\xbf\x41"),
              bad + bad + bad + bad + "A");    // Unicode table 3-11
}

TEST(Utf8, ValidTextIsUntouched) {
    for (const std::string& text : {std::string(), std::string("RMS_NORM+MUL norm-0"),
                                    std::string("attention_\xe9\x9d\x9e"
                                                "ASCII"),
                                    std::string("\xf0\x9f\x98\x80"), std::string("\x01\x1f\"\\\n"),
                                    std::string("a\0b", 3), std::string("\xed\x9f\xbf\xee\x80\x80\xf4\x8f\xbf\xbf")})
        EXPECT_EQ(to_valid_utf8(text), text);
}

}    // namespace
}    // namespace lapwing::trace
