// Times the tiles of a blocked matrix product, and says which of them are slow.
#include <cstdio>
#include <vector>

#include "lapwing/brick_report.hpp"
#include "lapwing/tile_stats.hpp"

namespace {

constexpr uint32_t kSize = 192;
constexpr uint32_t kTile = 48;

// c += a x b on one tile.
void multiply(const std::vector<float>& a, const std::vector<float>& b, std::vector<float>& c, uint32_t row,
              uint32_t col) {
    for (uint32_t i = row; i < row + kTile; ++i)
        for (uint32_t k = 0; k < kSize; ++k)
            for (uint32_t j = col; j < col + kTile; ++j) c[i * kSize + j] += a[i * kSize + k] * b[k * kSize + j];
}

}    // namespace

int main() {
    const std::vector<float> a(kSize * kSize, 0.5f);
    const std::vector<float> b(kSize * kSize, 0.25f);
    std::vector<float> c(kSize * kSize, 0.0f);

    lapwing::TileProfiler tiles;
    tiles.enable_tile_profiling();
    for (uint32_t row = 0; row < kSize; row += kTile) {
        for (uint32_t col = 0; col < kSize; col += kTile) {
            lapwing::TileTimer timer = tiles.start_tile(lapwing::TileLevel::kMidi, row / kTile, col / kTile);
            multiply(a, b, c, row, col);
            (void)tiles.stop_tile(timer, kTile * kTile, 2ull * kTile * kTile * kSize);    // faults are counted
        }
    }
    const lapwing::TileSnapshot now = tiles.snapshot();
    std::fputs(tile_summary(now).c_str(), stdout);
    std::printf("%s\n", tile_stats_to_json(now).c_str());
    return c[0] == 24.0f ? 0 : 1;
}
