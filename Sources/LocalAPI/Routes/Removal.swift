package import CRDTCore
package import Engine
package import PeerdKit
internal import Persistence

extension Workspace {
    /// Deletes an object with everything below it, in several transactions if one cannot hold all.
    ///
    /// `branch`: where it is deleted; nil for the main timeline. `conditions`: the versions that the object must have
    /// whenever something is written, by texts that name it. `countMax`: so many objects are deleted at once. Returns
    /// the receipt of the last transaction, which deletes the object itself.
    package func remove(
        _ object: ObjectID,
        on branch: BranchID?,
        if conditions: [(object: String, version: String)],
        upTo countMax: Int = Limits.transactionOperationCountMax,
        progress: @Sendable (String) async -> Void
    ) async throws -> WriteReceipt {
        let below = try await self.reading(at: branch.map { .branch($0) }) { state in
            let found = try ObjectLookup.find(object.description, in: &state)
            return try self.deleted(with: found.index, in: &state)
        }
        var batch = EditBatch([.delete(object.description)])
        batch.conditions = conditions
        let condition = ResolvedEdits(batch: batch, ids: Dictionary(conditions.map { ($0.object, object) }) { $1 })
        // From below, so that what has not been deleted yet still has its place.
        var rest = below.dropFirst().reversed()[...]
        var writtenCount = 0
        // Of more than that, a small part at a time, so that others can write between.
        let partCount = max(1, countMax / 8)
        while rest.count >= countMax {
            try Task.checkCancellation()
            let part = Array(rest.prefix(partCount))
            try await Self.saying(writtenCount) {
                try await self.write(on: branch) { transaction in
                    try condition.check(in: &transaction)
                    for id in part { try transaction.delete(id) }
                }
            }
            writtenCount += 1
            rest = rest.dropFirst(partCount)
            await progress("deleted \(below.count - rest.count) of \(below.count) objects")
        }
        return try await Self.saying(writtenCount) {
            try await batch.writeWithReceipt(to: self, on: branch).receipt
        }
    }

    /// Has an error say how many transactions were written before.
    private static func saying<Result>(
        _ writtenCount: Int,
        _ write: () async throws -> Result
    ) async throws -> Result {
        do {
            return try await write()
        } catch let error as PeerdError {
            throw error.behind(writtenCount)
        } catch let problem as Problem {
            throw problem.behind(writtenCount)
        }
    }
}
