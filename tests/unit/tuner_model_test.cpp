// Training on runs: what is learnt, what the held-out error is worth, and files that are not whole.
#include "lapwing/tuner_model.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <random>

#include "lapwing/tuner_report.hpp"

namespace lapwing {
namespace {

// A law that a model of logarithms can learn: memory-bound decoding with an imperfect batch.
double law(const RunConfig& config) {
    return 800 * std::pow(static_cast<double>(config.batch_size), 0.8) /
           (config.model_params_b * bytes_per_param(config.quant_type)) *
           std::pow(static_cast<double>(config.seq_len), -0.1) * (config.cuda_graphs ? 1.3 : 1.0);
}

std::vector<TrainingRun> runs(std::size_t count, double noise, uint64_t seed = 1) {
    std::mt19937_64 random(seed);
    std::normal_distribution<double> normal;
    std::vector<TrainingRun> out;
    for (std::size_t i = 0; i < count; ++i) {
        TrainingRun run;
        run.config.model_params_b = std::array{0.5, 1.5, 7.0, 13.0}[random() % 4];
        run.config.batch_size = int64_t{1} << (random() % 6);
        run.config.seq_len = int64_t{64} << (random() % 6);
        run.config.cuda_graphs = random() % 2 == 0;
        run.config.quant_type = random() % 2 == 0 ? QuantType::kQ4K : QuantType::kF16;
        run.measured_tps = law(run.config) * std::exp(noise * normal(random));
        out.push_back(run);
    }
    return out;
}

TEST(TunerModel, LearnsALawAndItsErrorIsThatOfUnseenRuns) {
    const TunerModel exact = TunerModel::train(runs(60, 0)).value();
    EXPECT_LT(exact.data().validation_error, 0.02);
    RunConfig config;
    config.model_params_b = 7;
    config.batch_size = 3;
    config.seq_len = 100;
    const auto predicted = exact.predict(config, {}).value();
    EXPECT_NEAR(predicted.tokens_per_s / law(config), 1, 0.02);
    EXPECT_TRUE(predicted.outside.empty());

    // With 10 % of noise the stated error has to be about that of a thousand runs it never saw.
    const TunerModel noisy = TunerModel::train(runs(80, 0.1)).value();
    double error = 0;
    const std::vector<TrainingRun> unseen = runs(1000, 0.1, 99);
    for (const TrainingRun& run : unseen)
        error += std::fabs(noisy.predict(run.config, run.device)->tokens_per_s / run.measured_tps - 1) / 1000;
    EXPECT_NEAR(noisy.data().validation_error, error, 0.03);
    EXPECT_GT(noisy.data().validation_error, 0.04);
    EXPECT_NEAR(predicted.confidence, 1 - exact.data().validation_error, 1e-12);
    EXPECT_GE(noisy.data().worst_error, noisy.data().validation_error);
}

TEST(TunerModel, RepeatsOfAConfigurationAreHeldOutTogether) {
    // Figures without any law: repeats agree with each other and say nothing of other configurations.
    std::mt19937_64 random(5);
    std::vector<TrainingRun> repeated;
    for (int configuration = 0; configuration < 8; ++configuration) {
        TrainingRun run;
        run.config.batch_size = configuration + 1;
        run.config.seq_len = static_cast<int64_t>(random() % 1000 + 1);
        run.config.num_layers = static_cast<int64_t>(random() % 100 + 1);
        run.measured_tps = static_cast<double>(random() % 1000 + 1);
        for (int repeat = 0; repeat < 4; ++repeat) repeated.push_back(run);
    }
    const TunerModel model = TunerModel::train(repeated).value();
    EXPECT_TRUE(model.data().by_configuration);
    EXPECT_EQ(model.data().configurations, 8u);
    EXPECT_GT(model.data().validation_error, 0.5) << "a repeat of the held-out run was trained on";
    EXPECT_LT(model.predict(repeated[0].config, {})->confidence, 0.5);
}

TEST(TunerModel, OneConfigurationHoldsOutItsRuns) {
    std::vector<TrainingRun> same(12);
    for (std::size_t i = 0; i < same.size(); ++i) same[i].measured_tps = 100 + static_cast<double>(i % 2);
    const TunerModel model = TunerModel::train(same).value();
    EXPECT_FALSE(model.data().by_configuration);
    EXPECT_NEAR(model.predict(RunConfig{}, {})->tokens_per_s, 100.5, 0.1);
    EXPECT_LT(model.data().validation_error, 0.02);
}

TEST(TunerModel, BeyondItsRunsItSaysSoAndClaimsNothing) {
    const TunerModel model = TunerModel::train(runs(40, 0.05)).value();
    RunConfig config;
    config.batch_size = 64;
    config.seq_len = 100;
    const auto predicted = model.predict(config, {}).value();
    EXPECT_EQ(predicted.outside, std::vector<std::string>{"ln batch_size"});
    const TunerRecommendation answer = recommend(config, {}, nullptr, &model).value();
    EXPECT_EQ(answer.throughput.basis, Basis::kTrained);
    EXPECT_FALSE(answer.throughput.confidence);
    ASSERT_EQ(answer.assumptions.size(), 1u);
    EXPECT_NE(answer.assumptions[0].find("ln batch_size is beyond the runs"), std::string::npos);
    config.batch_size = 1;
    const TunerRecommendation inside = recommend(config, {}, nullptr, &model).value();
    EXPECT_DOUBLE_EQ(*inside.throughput.confidence, 1 - model.data().validation_error);
    EXPECT_DOUBLE_EQ(*inside.confidence_overall, *inside.throughput.confidence);
    ASSERT_FALSE(inside.experiments.empty());
    EXPECT_GT(*inside.experiments[0].predicted_tps, inside.throughput.tokens_per_s) << "a larger batch was faster";
    TunerProfile ffn;
    ffn.total_ns = ffn.ffn_ns = 100;
    const TunerRecommendation memory = recommend(config, {}, &ffn, &model).value();
    ASSERT_EQ(memory.experiments.back().kind, ExperimentKind::kTryKernel);
    EXPECT_FALSE(memory.experiments.back().predicted_tps) << "kernels are no term of the model";
}

TEST(TunerModel, BadRunsAreNamed) {
    EXPECT_NE(TunerModel::train(runs(9, 0)).error().message.find("at least 10 runs, and these are 9"),
              std::string::npos);
    std::vector<TrainingRun> bad = runs(12, 0);
    bad[3].source = "x.pftrace";
    bad[3].measured_tps = std::nan("");
    EXPECT_NE(TunerModel::train(bad).error().message.find("x.pftrace: measured_tps is nan"), std::string::npos);
    bad[3].measured_tps = 1;
    bad[3].config.hidden_dim = -5;
    EXPECT_NE(TunerModel::train(bad).error().message.find("x.pftrace: hidden_dim is -5"), std::string::npos);
}

TEST(TunerModelFile, ComesBackBitForBit) {
    const TunerModel model = TunerModel::train(runs(30, 0.1)).value();
    const std::string bytes = encode_model(model);
    EXPECT_EQ(bytes.substr(0, 4), "LWT1");
    const TunerModel again = decode_model(bytes).value();
    EXPECT_EQ(encode_model(again), bytes);
    EXPECT_EQ(again.data().weights, model.data().weights);
    EXPECT_EQ(again.data().intercept, model.data().intercept);
    EXPECT_EQ(again.predict(RunConfig{}, {})->tokens_per_s, model.predict(RunConfig{}, {})->tokens_per_s);
}

TEST(TunerModelFile, EveryCutAndEveryFlippedBitIsRefused) {
    const std::string bytes = encode_model(TunerModel::train(runs(12, 0.1)).value());
    for (std::size_t length = 0; length < bytes.size(); ++length) {
        const auto cut = decode_model(std::string_view(bytes).substr(0, length));
        ASSERT_FALSE(cut.ok()) << length;
        ASSERT_EQ(cut.error().code, Errc::kBadFormat);
        if (length >= 8) {
            ASSERT_NE(cut.error().message.find("torn"), std::string::npos) << length;
        }
    }
    for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
        std::string flipped = bytes;
        flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ 1 << bit % 8);
        ASSERT_FALSE(decode_model(flipped).ok()) << "bit " << bit;
    }
    EXPECT_NE(decode_model(bytes + "x").error().message.find("1 bytes follow its end"), std::string::npos);
    EXPECT_NE(decode_model("APR1whatever").error().message.find("no tuner model"), std::string::npos);
}

TEST(TunerModelFile, IsWrittenWholeAndErrorsNameIt) {
    const std::filesystem::path folder = std::filesystem::path(::testing::TempDir()) / "tuner_model_file";
    std::filesystem::create_directories(folder);
    const std::string path = (folder / "m.lwt").string();
    const TunerModel model = TunerModel::train(runs(12, 0.1)).value();
    ASSERT_TRUE(write_model(model, path).ok());
    EXPECT_EQ(encode_model(read_model(path).value()), encode_model(model));
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1) << "nothing beside it is left";
    EXPECT_EQ(write_model(model, (folder / "none" / "m.lwt").string()).error().code, Errc::kUnwritable);
    std::filesystem::resize_file(path, 100);
    const auto torn = read_model(path);
    ASSERT_FALSE(torn.ok());
    EXPECT_EQ(torn.error().message.find(path + ": it is torn: 100 of its"), 0u) << torn.error().message;
    EXPECT_EQ(read_model((folder / "missing").string()).error().code, Errc::kNotFound);
    std::filesystem::remove_all(folder);
}

}    // namespace
}    // namespace lapwing
