package import CRDTCore

extension SQLiteTransaction {
    package func addErasure(_ erasure: PendingErasure) throws(StoreError) {
        try self.statements[.insertErasure].run(erasure.key, erasure.change)
    }

    package func removeErasure(_ erasure: PendingErasure) throws(StoreError) {
        try self.statements[.deleteErasure].run(erasure.key, erasure.change)
    }

    package func erasures(after key: RegisterKey?) throws(StoreError) -> [PendingErasure] {
        try self.statements[.erasuresFrom].rows(key?.rowNumber ?? .min) { row throws(StoreError) in
            PendingErasure(key: RegisterKey(rowNumber: row.int64(0)), change: try self.point(row, at: 1))
        }
    }

    /// Whether an erasure of a property is not done yet.
    package func isErasurePending(at key: RegisterKey) throws(StoreError) -> Bool {
        try self.statements[.erasuresOf].first(key) { _ in true } ?? false
    }

    package func supersededWrites(
        at key: RegisterKey,
        upTo limit: Int,
        where isWanted: (WriteReference) -> Bool
    ) throws(StoreError) -> [WriteReference] {
        try self.flush()
        let statement = try self.statements[.supersededWrites]
        defer { statement.reset() }
        statement.bind(1, key)
        var found: [WriteReference] = []
        while found.count < limit, try statement.step() {
            let write = try self.write(statement)
            if isWanted(write) { found.append(write) }
        }
        return found
    }
}
