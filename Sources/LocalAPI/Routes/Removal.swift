internal import CRDTCore
internal import Engine
internal import PeerdKit
internal import Persistence

extension Workspace {
    /// Objects that are deleted at once where there are more than one transaction can delete.
    private static let deletedCountMax = 1 << 13

    /// Deletes an object with everything below it, in several transactions if one cannot hold all.
    ///
    /// `branch`: where it is deleted; nil for the main timeline. `conditions`: the versions that objects must have, by
    /// the texts that name them. Returns the receipt of the last transaction, which deletes the object itself.
    func remove(
        _ object: ObjectID,
        on branch: BranchID?,
        if conditions: [(object: String, version: String)],
        progress: @Sendable (String) -> Void
    ) async throws -> WriteReceipt {
        let below = try await self.reading(at: branch.map { .branch($0) }) { state in
            let found = try ObjectLookup.find(object.description, in: &state)
            return try StateExport.subtree(found.index, in: &state).map { try state.object($0).id }
        }
        // From below, so that what has not been deleted yet still has its place.
        var rest = below.dropFirst().reversed()[...]
        var writtenCount = 0
        while rest.count >= Limits.transactionOperationCountMax {
            try Task.checkCancellation()
            let part = Array(rest.prefix(Self.deletedCountMax))
            try await self.write(behind: writtenCount, on: branch) { transaction in
                for id in part { try transaction.delete(id) }
            }
            writtenCount += 1
            rest = rest.dropFirst(Self.deletedCountMax)
            progress("deleted \(below.count - rest.count) of \(below.count) objects")
        }
        var batch = EditBatch([.delete(object.description)])
        batch.conditions = conditions
        do {
            return try await batch.writeWithReceipt(to: self, on: branch).receipt
        } catch let error as PeerdError {
            throw error.behind(writtenCount)
        }
    }
}
