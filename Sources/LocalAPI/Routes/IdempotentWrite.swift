internal import CRDTCore
internal import Engine
internal import NIOHTTP1
internal import PeerCrypto
internal import PeerdKit

/// A transaction that its client named, so that it is done once, however often the client sends it.
///
/// A client sends it again if the connection ended before the answer came. The workspace remembers names in the
/// transaction of the write, so this holds after a crash too.
struct IdempotentWrite: Sendable {
    private let name: IdempotencyKey
    private let batch: EditBatch
    /// The branch that is written to; nil for the main timeline.
    private let branch: BranchID?

    /// Reads the members `edits` and `if`.
    init(_ name: String, _ members: Members, on branch: BranchID? = nil) throws(Problem) {
        guard name.utf8.count <= APILimits.idempotencyKeyByteCountMax else {
            throw .badRequest("The id of a write has at most \(APILimits.idempotencyKeyByteCountMax) bytes.")
        }
        self.batch = try EditBatch(members)
        self.branch = branch
        // In the canonical form, so that order and white space make no difference.
        var parts: [ExactText: JSON] = ["edits": members["edits"] ?? .null, "if": members["if"] ?? .null]
        // Without a branch, the content is what it was before there were branches.
        if let branch { parts["branch"] = .string(branch.description) }
        let digest = JSON.object(parts).bytes.withUnsafeBytes { Blake2b.unpersonalised256($0) }
        let hash = Hash256(bytes: Bytes32(digest.0, digest.1, digest.2, digest.3))
        self.name = IdempotencyKey(name, content: hash)
    }

    /// Writes the transaction unless it was written before, and returns the objects that it created, in order.
    func write(to workspace: Workspace) async throws -> [ObjectID] {
        do {
            return try await self.batch.resolved(in: workspace, on: self.branch) { edits in
                try await workspace.writeOnce(self.name, on: self.branch) { _ = try edits.perform(in: &$0) }
            }
        } catch let error where !(error is WriteRefusal) {
            // If it was written before, what its edits name may be gone.
            if let created = try await workspace.createdObjects(of: self.name) { return created }
            throw error
        }
    }
}

extension Problem {
    static func idOfAnotherWrite(_ name: String) -> Problem {
        Problem(
            .conflict,
            "id-of-another-write",
            "The id “\(name)” belongs to a write with other edits or conditions, which was done. Nothing was written.",
            advice: "Give each write an id of its own, best a new UUID."
        )
    }
}
