// vk_pass MODE: render passes of each kind, four light ones and four heavy ones in turn, with a dispatch between them.
//   pass         vkCmdBeginRenderPass
//   pass2        vkCmdBeginRenderPass2
//   rendering    vkCmdBeginRendering
//   suspended    the same, through three command buffers of one submit, submitted twice
//   secondaries  draws in a secondary command buffer
// Each pass has a draw under a label, "LIGHT draw-N" or "HEAVY draw-N". Prints one JSON object.
#include <cstdio>
#include <string>
#include <string_view>

#include "painter.hpp"

namespace programs {
namespace {

constexpr unsigned kPasses = 8;

struct Scene {
    VulkanDevice device;
    Painter painter{device};
    VkPipeline pipeline = device.make_pipeline("between_f32");
    VkFence fence = device.make_fence();
    VkCommandPool pool = device.make_pool(VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT);
    VkCommandBuffer commands = device.make_commands(pool);

    static bool heavy(unsigned pass) { return pass % 2 == 1; }
    static uint32_t iterations(unsigned pass) { return heavy(pass) ? 1000 : 1; }
    void label(unsigned pass) {
        device.begin_label(commands, std::string(heavy(pass) ? "HEAVY" : "LIGHT") + " draw-" + std::to_string(pass));
    }
};

void paint(Scene& scene, std::string_view mode, unsigned pass) {
    const VkCommandBuffer commands = scene.commands;
    const bool dynamic = mode == "rendering";
    scene.label(pass);
    if (mode == "pass") scene.painter.begin_pass(commands);
    if (mode == "pass2") scene.painter.begin_pass2(commands);
    if (dynamic) scene.painter.begin_rendering(commands);
    if (mode == "secondaries") {
        const VkCommandBuffer secondary = scene.device.make_commands(scene.pool, VK_COMMAND_BUFFER_LEVEL_SECONDARY);
        scene.painter.begin_inside(secondary, VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT);
        scene.painter.draw(secondary, Scene::iterations(pass), false);
        scene.device.end(secondary);
        scene.painter.begin_pass(commands, VK_SUBPASS_CONTENTS_SECONDARY_COMMAND_BUFFERS);
        vkCmdExecuteCommands(commands, 1, &secondary);
    } else {
        scene.painter.draw(commands, Scene::iterations(pass), dynamic);
    }
    if (dynamic) {
        vkCmdEndRendering(commands);
    } else if (mode == "pass2") {
        VkSubpassEndInfo end{};
        end.sType = VK_STRUCTURE_TYPE_SUBPASS_END_INFO;
        vkCmdEndRenderPass2(commands, &end);
    } else {
        vkCmdEndRenderPass(commands);
    }
    scene.device.end_label(commands);
}

void run_one_buffer(Scene& scene, std::string_view mode) {
    scene.device.begin(scene.commands, VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT);
    scene.painter.prepare(scene.commands);
    for (unsigned pass = 0; pass < kPasses; ++pass) {
        paint(scene, mode, pass);
        scene.device.barrier(scene.commands);
        scene.device.dispatch(scene.commands, scene.pipeline);
        scene.device.barrier(scene.commands);
    }
    scene.device.end(scene.commands);
    scene.device.submit({scene.commands}, scene.fence);
    scene.device.wait(scene.fence);
}

// One pass: begun in the first buffer, resumed and suspended in the second one, ended in the third.
void run_suspended(Scene& scene) {
    const VkRenderingFlags flags[3] = {VK_RENDERING_SUSPENDING_BIT,
                                       VK_RENDERING_RESUMING_BIT | VK_RENDERING_SUSPENDING_BIT,
                                       VK_RENDERING_RESUMING_BIT};
    for (unsigned pass = 0; pass < kPasses / 2; ++pass) {
        std::vector<VkCommandBuffer> parts;
        for (const VkRenderingFlags flag : flags) {
            parts.push_back(scene.device.make_commands(scene.pool));
            scene.commands = parts.back();
            scene.device.begin(scene.commands, VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT);
            scene.label(pass);
            if (parts.size() == 1) scene.painter.prepare(scene.commands);
            scene.painter.begin_rendering(scene.commands, flag);
            scene.painter.draw(scene.commands, Scene::iterations(pass), true);
            vkCmdEndRendering(scene.commands);
            scene.device.end_label(scene.commands);
            if (parts.size() == 3) {
                scene.device.barrier(scene.commands);
                scene.device.dispatch(scene.commands, scene.pipeline);
                scene.device.barrier(scene.commands);
            }
            scene.device.end(scene.commands);
        }
        scene.device.submit(parts);
        scene.device.submit(parts, scene.fence);
        scene.device.wait(scene.fence);
    }
}

}    // namespace
}    // namespace programs

int main(int argc, char** argv) {
    using namespace programs;
    const std::string_view mode = argc > 1 ? argv[1] : "";
    Scene scene;
    if (mode == "suspended") {
        run_suspended(scene);
    } else if (mode == "pass" || mode == "pass2" || mode == "rendering" || mode == "secondaries") {
        run_one_buffer(scene, mode);
    } else {
        std::fputs("usage: vk_pass pass|pass2|rendering|suspended|secondaries\n", stderr);
        return 2;
    }
    std::printf("{\"passes\":%u,\"dispatches\":%u}\n", kPasses, kPasses);
    return 0;
}
