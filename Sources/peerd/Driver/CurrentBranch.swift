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

extension Workplace {
    /// The branch that the command acts on; nil for the main timeline.
    var currentBranch: BranchID? { get throws { try CurrentBranch.load(self.paths) } }

    /// The parameter that names the current branch to the routes that write.
    var branchQuery: [(name: String, value: String?)] {
        get throws { [("branch", try self.currentBranch?.description)] }
    }

    /// The moment of the current branch; nil for now.
    var branchMoment: String? { get throws { try self.currentBranch.map { Moment.branch($0).description } } }

    /// Stops a verb that acts on the main timeline only, while another is chosen.
    func requireMainTimeline(_ verb: String) async throws {
        guard let branch = try self.currentBranch else { return }
        let name = try await self.branchName(branch.description) ?? branch.description
        throw CommandFailure(
            .usage,
            "\"peerd \(verb)\" acts on the main timeline only, and the current branch is “\(name)”; run "
                + "\"peerd branch switch main\" first."
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
        guard let problem = error as? Problem, problem.code == "no-such-branch",
            let current = try? self.currentBranch, problem.message.contains(current.description)
        else { return error }
        return CommandFailure(
            .noSuchObject,
            "The current branch (\(current)) was deleted; run \"peerd branch switch main\", or switch to another one."
        )
    }
}
