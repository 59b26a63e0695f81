internal import Foundation
internal import LocalAPI
internal import PeerdKit
internal import Persistence

/// The file `branch` of a data directory: which branch commands act on that name none.
///
/// It holds the id of the branch, or `main`, and a line break. The daemon and other machines do not look at it.
enum CurrentBranch {
    private static let byteCountMax = 64

    /// The branch; nil for the main timeline.
    static func load(_ paths: DirectoryPaths) throws -> BranchID? {
        var bytes: [UInt8] = []
        do throws(RegularFile.Failure) {
            bytes = try RegularFile.content(of: paths.branch, atMost: Self.byteCountMax)
        } catch {
            switch error {
            case .absent: return nil
            case .notRegular, .hasOtherNames, .system: throw PeerdError(error, paths.branch)
            case .tooLong: break
            }
        }
        let text = String(decoding: bytes, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
        if Branch.isMain(text) { return nil }
        guard let id = BranchID(text: text) else {
            throw CommandFailure(
                .storage,
                "The file \(paths.branch) names no branch; choose one with \"peerd branch switch NAME\"."
            )
        }
        return id
    }

    /// Remembers a branch; nil for the main timeline.
    static func save(_ branch: BranchID?, _ paths: DirectoryPaths) throws {
        let text = (branch?.description ?? Branch.mainName) + "\n"
        try Array(text.utf8).withUnsafeBytes { try PrivateFile.write($0, to: paths.branch) }
    }
}

/// What says which branch a command acts on.
enum BranchChoice: Hashable {
    /// The option `--branch`.
    case option(String)
    /// The variable `PEERD_BRANCH`.
    case environment(String)
    /// The file of the data directory.
    case switched

    static let variable = "PEERD_BRANCH"

    init(option: String?, environment: [String: String] = ProcessInfo.processInfo.environment) throws {
        if let option {
            guard !option.isEmpty else { throw CommandFailure(.usage, "--branch needs the name of a branch, or main.") }
            self = .option(option)
        } else if let name = environment[Self.variable], !name.isEmpty {
            self = .environment(name)
        } else {
            self = .switched
        }
    }
}

extension Workplace {
    /// The branch that the command acts on; nil for the main timeline.
    var currentBranch: BranchID? {
        get async throws {
            switch self.branchChoice {
            case .switched: return try CurrentBranch.load(self.paths)
            case .option(let name), .environment(let name):
                return try await self.branch(name).flatMap { BranchID(text: $0.id) }
            }
        }
    }

    /// The parameter that names the current branch to the routes that write.
    ///
    /// A script that did not choose the branch need not know of it, so it is told.
    var branchQuery: [(name: String, value: String?)] {
        get async throws {
            let branch = try await self.currentBranch?.description
            if let branch, self.branchChoice == .switched, let name = try await self.branchName(branch) {
                try self.output.note(
                    "This goes to the branch “\(name)”, to which “peerd branch switch” leads; --branch names another."
                )
            }
            return [("branch", branch)]
        }
    }

    /// The moment that a command is given, or that of the current branch; nil for now.
    func moment(_ given: String?) async throws -> String? {
        guard let given else { return try await self.currentBranch.map { Moment.branch($0).description } }
        if case .option = self.branchChoice {
            throw CommandFailure(.usage, "Both --branch and a moment say what to show; name one of them.")
        }
        return given
    }

    /// Stops a verb that acts on the main timeline only, while another is chosen.
    func requireMainTimeline(_ verb: String) async throws {
        guard let branch = try await self.currentBranch else { return }
        let name = try await self.branchName(branch.description) ?? branch.description
        throw CommandFailure(
            .usage,
            "\"peerd \(verb)\" acts on the main timeline only, and the current branch is “\(name)”; run "
                + "\"peerd branch switch main\" first, or add --branch main."
        )
    }

    /// The name of a branch; nil if it is gone.
    func branchName(_ id: String) async throws -> String? {
        do {
            return try await self.caller.answer(APIRequest(.get, "api", "branches", id), as: BranchAnswer.self).name
        } catch let problem as Problem where problem.code == "no-such-branch" {
            return nil
        }
    }

    /// An error as it is to be said: that the current branch is gone needs other advice than that a branch is.
    func explained(_ error: any Error) -> any Error {
        guard let problem = error as? Problem, problem.code == "no-such-branch", self.branchChoice == .switched,
            let current = try? CurrentBranch.load(self.paths), problem.message.contains(current.description)
        else { return error }
        return CommandFailure(
            .noSuchObject,
            "The current branch (\(current)) was deleted; run \"peerd branch switch main\", or switch to another one."
        )
    }
}
