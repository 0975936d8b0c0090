#include "parse_error.hpp"

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <optional>

namespace lapwing::cli {
namespace {

std::string names_of_commands(const CLI::App& app) {
    const auto commands = app.get_subcommands([](const CLI::App*) { return true; });
    std::string out;
    for (std::size_t i = 0; i < commands.size(); ++i)
        out += (i == 0 ? "" : i + 1 == commands.size() ? " and " : ", ") + commands[i]->get_name();
    return out;
}

CLI::App* find_command(CLI::App& app, const std::string& name) {
    const auto found = app.get_subcommands([&](const CLI::App* one) { return one->get_name() == name; });
    return found.empty() ? nullptr : found.front();
}

// "--by" of "--by", "--by=op" and "-o" alike.
std::string option_in(const std::string& argument) {
    return argument.substr(0, argument.find('='));
}

// The first option that takes one value and is there more than once, as it was written.
std::optional<std::string> find_repeated(const CLI::App& command, const std::vector<std::string>& arguments) {
    for (const CLI::Option* option : command.get_options()) {
        if (option->get_expected_max() != 1 || option->get_positional()) continue;
        const auto is_it = [&](const std::string& argument) {
            return argument.starts_with("-") && option->check_name(option_in(argument));
        };
        const auto first = std::find_if(arguments.begin(), arguments.end(), is_it);
        if (std::count_if(arguments.begin(), arguments.end(), is_it) > 1) return option_in(*first);
    }
    return std::nullopt;
}

// CLI11's texts begin with the name of the option: "--by: 1 required TEXT missing".
std::string option_of(const CLI::ParseError& error) {
    const std::string text = error.what();
    return text.substr(0, text.find(':'));
}

// "Could not convert: --top = x", the only kind of value that CLI11 converts here being a whole number.
std::string explain_conversion(const std::string& text) {
    const std::size_t name = text.find("--");
    const std::size_t equals = text.find(" = ");
    if (name == std::string::npos || equals == std::string::npos) return text;
    return text.substr(name, equals - name) + " '" + text.substr(equals + 3) + "' is not a whole number";
}

// Advice in one line: CLI11 spreads its own over several.
std::string one_line(std::string text) {
    while (!text.empty() && text.back() == '\n') text.pop_back();
    std::replace(text.begin(), text.end(), '\n', ' ');
    return text;
}

std::string explain_for(const CLI::App& command, const CLI::ParseError& error,
                        const std::vector<std::string>& arguments) {
    const std::string& name = command.get_name();
    if (const auto repeated = find_repeated(command, arguments)) return *repeated + " is given twice: give it once";
    if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr)
        return option_of(error) + " needs a value behind it";
    if (dynamic_cast<const CLI::ConversionError*>(&error) != nullptr) return explain_conversion(error.what());
    if (std::string(error.what()) == "reference is required" || std::string(error.what()) == "candidate is required")
        return name + " needs two files: lapwing " + name + " REFERENCE CANDIDATE";
    if (std::string(error.what()) == "file is required") return name + " needs a file: lapwing " + name + " FILE";
    if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) {
        const std::vector<std::string> extra = command.remaining();
        const std::string first = extra.empty() ? std::string{} : extra.front();
        if (first.starts_with("-")) return name + " does not know '" + first + "'";
        std::string takes;
        for (const CLI::Option* option : command.get_options())
            if (option->get_positional()) takes += (takes.empty() ? "" : " ") + option->get_type_name();
        return name + " does not take '" + first + "': it takes " +
               (takes == "FILE" ? "one file"
                : takes.empty() ? "options only"
                                : takes + " and options");
    }
    return one_line(error.what());
}

}    // namespace

std::string explain(CLI::App& app, const CLI::ParseError& error, const std::vector<std::string>& arguments) {
    if (arguments.empty()) return "name a command: " + names_of_commands(app) + "; see: lapwing --help";
    const CLI::App* const command = find_command(app, arguments.front());
    if (command != nullptr)
        return explain_for(*command, error, arguments) + "; see: lapwing " + command->get_name() + " --help";
    const char* const what = arguments.front().starts_with("-") ? "lapwing does not know '" : "there is no command '";
    return what + arguments.front() + "': the commands are " + names_of_commands(app) + "; see: lapwing --help";
}

}    // namespace lapwing::cli
