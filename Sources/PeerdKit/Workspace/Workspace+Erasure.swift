public import CRDTCore
internal import Engine
internal import Persistence

/// The result of erasing the past of a property.
public struct ErasureReport: Hashable, Sendable, Codable {
    /// The number of earlier values that were erased; 0 if the property was written only once.
    public let erasedWriteCount: Int
    /// The snapshots of this machine that hold the property; they stay as they are.
    public let snapshots: [ObjectSnapshot.ID]
    /// Tells whether the write in force before stays in the log as long as an open branch shows it.
    ///
    /// It has the same value as the one that is in force now.
    public let isPending: Bool
    /// The reason why the files of the database may hold erased bytes still, as a sentence; nil if they hold none.
    public let fileFailure: String?
}

extension Workspace {
    /// Erases the past of a property, on this machine and on all others as soon as they sync.
    ///
    /// The property keeps its value, which is written once more. The values of all writes to it that are stored here
    /// are dropped, whoever wrote them; their hashes stay, so every signature can be checked as before. Conflicts of
    /// the property end. A write that another machine makes meanwhile, without having seen the erasure, stays and
    /// competes as always. Of an object that is deleted, the last value is erased too.
    ///
    /// When the call returns, the files of this database hold no byte of the erased values, unless ``ErasureReport``
    /// says so. Snapshots and backups stay as they are, and so does what a branch has that was not merged.
    ///
    /// - Parameters:
    ///   - property: the name of the property.
    ///   - object: the object, which may be deleted.
    /// - Returns: the result.
    /// - Throws: ``PeerdError`` with `noSuchObject` if the object never had the property; `shownOnBranch` if an open
    ///   branch shows an earlier value of it; or as ``write(_:)`` does.
    /// - Complexity: O(*n*) in the size of the database, which is written anew.
    @discardableResult
    public func erase(_ property: String, of object: ObjectID) async throws -> ErasureReport {
        let driver = try self.driver()
        let writeCount = try await self.write { transaction in
            try transaction.translating { local throws(WriteRefusal) in
                try local.erasePast(of: property, on: object)
            }
        }
        guard let writeCount else {
            throw PeerdError(
                .noSuchObject,
                "The object \(object) never had a property “\(property.prefix(80))”.",
                advice: "Check the id and the name."
            )
        }
        try await driver.erase()
        let (isPending, snapshots) = try await self.reading { transaction in
            (
                try transaction.isErasurePending(of: property, on: object),
                try transaction.snapshots(holding: property, of: object)
            )
        }
        var failure: String?
        do {
            if try await !driver.writeFilesAnew() {
                failure = "A program, or a long request to the daemon, reads an older state of the database."
            }
        } catch let error as PeerdError {
            failure = error.message
        }
        return ErasureReport(
            erasedWriteCount: Int(clamping: writeCount),
            snapshots: snapshots.map { ObjectSnapshot.ID($0) },
            isPending: isPending,
            fileFailure: failure
        )
    }
}

extension SQLiteTransaction {
    fileprivate func isErasurePending(of name: String, on object: ObjectID) throws -> Bool {
        var transaction = self
        guard let index = try transaction.existingObjectIndex(of: object),
            let number = try self.existingNameIndex(of: name)
        else { return false }
        return try self.isErasurePending(at: RegisterKey(object: index, name: number))
    }

    /// The snapshots in which an object has a property.
    fileprivate func snapshots(holding name: String, of object: ObjectID) throws -> [ObjectID] {
        var found: [ObjectID] = []
        for record in try self.snapshots(of: nil) {
            guard let bytes = try self.snapshotContent(record.id),
                let content = try? SnapshotContent(parsing: bytes)
            else { continue }
            let holds = content.objects.contains { $0.id == object && $0.properties[ExactText(name)] != nil }
            if holds { found.append(record.id) }
        }
        return found
    }
}
