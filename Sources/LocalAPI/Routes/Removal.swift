internal import CRDTCore
internal import Engine
internal import PeerdKit
internal import Persistence

/// Deletes an object with everything below it, in several transactions if one cannot hold all.
struct Removal: Sendable {
    let object: ObjectID
    /// The branch on which it is deleted; nil for the main timeline.
    var branch: BranchID?
    /// The versions that objects must have, by the texts that name them.
    var conditions: [(object: String, version: String)] = []

    /// Objects that are deleted at once where there are more than one transaction can delete.
    private static let deletedCountMax = 1 << 13

    /// Returns the receipt of the last transaction, which deletes the object itself.
    func perform(in workspace: Workspace, progress: @Sendable (String) -> Void) async throws -> WriteReceipt {
        let object = self.object
        let below = try await workspace.reading(at: self.branch.map { .branch($0) }) { state in
            let found = try ObjectLookup.find(object.description, in: &state)
            return try StateExport.subtree(found.index, in: &state).map { try state.object($0).id }
        }
        // From below, so that what has not been deleted yet still has its place.
        var rest = below.dropFirst().reversed()[...]
        while rest.count >= Limits.transactionOperationCountMax {
            try Task.checkCancellation()
            let part = Array(rest.prefix(Self.deletedCountMax))
            try await workspace.write(on: self.branch) { transaction in for id in part { try transaction.delete(id) } }
            rest = rest.dropFirst(Self.deletedCountMax)
            progress("deleted \(below.count - rest.count) of \(below.count) objects")
        }
        var batch = EditBatch([.delete(object.description)])
        batch.conditions = self.conditions
        return try await batch.writeWithReceipt(to: workspace, on: self.branch).receipt
    }
}
