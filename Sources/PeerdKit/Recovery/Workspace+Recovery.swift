internal import CRDTCore
internal import Engine
public import Foundation
internal import PeerCrypto
internal import Persistence

extension Workspace {
    /// Certifies this machine anew with the root key of its user, so that it stands above all other machines of his: it
    /// can remove any of them, and what a thief with one of them has removed counts no more for it.
    ///
    /// The workspace must not be open anywhere. What the machine writes from then on is written under the new
    /// certificate.
    ///
    /// - Parameters:
    ///   - directory: the directory of the workspace.
    ///   - words: what was shown when the user was made.
    /// - Throws: ``PeerdError`` with `notPermitted` if the words are another user's, `noWorkspace`, `alreadyOpen`, or
    ///   what a disk can refuse.
    public static func recover(at directory: URL, with words: RecoveryWords) async throws {
        try await self.recover(DirectoryPaths(directory), with: words)
    }

    /// Tells whether words are those of the user of this machine.
    ///
    /// - Throws: ``PeerdError`` with `noWorkspace`, `damaged`, or what a disk can refuse.
    public static func isRecoverable(at directory: URL, with words: RecoveryWords) throws -> Bool {
        try self.isRecoverable(DirectoryPaths(directory), with: words)
    }

    package static func isRecoverable(_ paths: DirectoryPaths, with words: RecoveryWords) throws -> Bool {
        try paths.requireWorkspace()
        return try KeyFile.load(paths).user == UserID(words.rootKey())
    }

    package static func recover(_ paths: DirectoryPaths, with words: RecoveryWords) async throws {
        try paths.requireWorkspace()
        let root = words.rootKey()
        let identity = try KeyFile.load(paths)
        let user = identity.user
        guard user == UserID(root) else {
            throw PeerdError(
                .notPermitted,
                "These are the recovery words of another user.",
                advice: "Give those that were shown when this workspace, or this user, was made."
            )
        }
        // Nobody else writes meanwhile.
        let runtime = try await WorkspaceRuntime.openStoreAlone(paths, mayWrite: true, report: { _ in })
        do {
            let known = try await runtime.readers.read { transaction in transaction.latestGeneration(of: user) }
            let latest = max(known ?? 0, identity.generation)
            guard latest < .max, let recovered = identity.recovered(by: root, generation: latest + 1) else {
                throw PeerdError(.notPermitted, "There is no later generation of machines.", advice: "Report this.")
            }
            try KeyFile.replace(recovered, at: paths)
        } catch {
            await runtime.stop()
            throw error
        }
        await runtime.stop()
    }
}
