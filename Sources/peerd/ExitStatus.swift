internal import ArgumentParser

/// How a command ended, as the shell sees it.
///
/// The one list of exit codes: help texts and the guide follow it.
enum ExitStatus: Int32, CaseIterable, Codable, Sendable {
    case success = 0
    case failure = 1
    case usage = 2
    case noSuchObject = 3
    case workspace = 4
    case busy = 5
    case syncIncomplete = 6
    case storage = 7

    /// What the code means, for help texts.
    var meaning: String {
        switch self {
        case .success: "done"
        case .failure:
            "not done, for the reason on standard error; doctor: something is wrong; preview: look at the result"
        case .usage: "the command line is not understood"
        case .noSuchObject: "no such object, property or machine, or an abbreviated id that fits several"
        case .workspace:
            "the data directory has no workspace yet, or init, join or backup restore found one there already"
        case .busy: "the daemon does not answer, or another process has the data directory"
        case .syncIncomplete: "a peer was not reached, or not everything was exchanged in time"
        case .storage: "the data directory cannot be read or written: disk full, damage, permissions, a newer version"
        }
    }

    /// What all codes mean, for the help of the program.
    static var help: String {
        (["Exit codes:"] + self.allCases.map { "  \($0.rawValue)  \($0.meaning)" }).joined(separator: "\n")
    }

    /// The line at the end of a verb's help.
    static func line(_ statuses: [ExitStatus]) -> String {
        "Exit codes: \(statuses.map { "\($0.rawValue)" }.joined(separator: ", ")); see \"peerd help\"."
    }

    /// What every command that opens the data directory may end with.
    static let common: [ExitStatus] = [.success, .failure, .usage, .workspace, .busy, .storage]
    /// The same for commands that name an object.
    static let commonWithObject: [ExitStatus] = [
        .success, .failure, .usage, .noSuchObject, .workspace, .busy, .storage,
    ]
}

/// A command that could not be carried out: one sentence that says what to do, and the exit code.
struct CommandFailure: Error, Hashable, Codable, Sendable {
    var status: ExitStatus
    var message: String

    init(_ status: ExitStatus, _ message: String) {
        self.status = status
        self.message = message
    }
}

extension CommandConfiguration {
    /// The configuration of one verb: its help ends with its exit codes, the common ones unless it names them.
    init(verb: String, abstract: String, discussion: String = "", exitCodes: [ExitStatus] = ExitStatus.common) {
        let codes = ExitStatus.line(exitCodes)
        self.init(
            commandName: verb,
            abstract: abstract,
            discussion: discussion.isEmpty ? codes : discussion + "\n\n" + codes
        )
    }
}
