package import CRDTCore

extension SQLiteTransaction {
    package func addErasure(_ erasure: PendingErasure) throws(StoreError) {
        let statement = try self.statements[.insertErasure]
        Self.bind(erasure, to: statement)
        try statement.run()
    }

    package func removeErasure(_ erasure: PendingErasure) throws(StoreError) {
        let statement = try self.statements[.deleteErasure]
        Self.bind(erasure, to: statement)
        try statement.run()
    }

    package func erasures(after key: RegisterKey?) throws(StoreError) -> [PendingErasure] {
        let statement = try self.statements[.erasuresFrom]
        defer { statement.reset() }
        statement.bind(1, key?.rowNumber ?? .min)
        var found: [PendingErasure] = []
        while try statement.step() {
            let change = try self.point(statement, at: 1)
            found.append(PendingErasure(key: RegisterKey(rowNumber: statement.int64(0)), change: change))
        }
        return found
    }

    /// Whether an erasure of a property is not done yet.
    package func isErasurePending(at key: RegisterKey) throws(StoreError) -> Bool {
        let statement = try self.statements[.erasuresOf]
        defer { statement.reset() }
        statement.bind(1, key.rowNumber)
        return try statement.step()
    }

    package func supersededWrites(
        at key: RegisterKey,
        upTo limit: Int,
        where isWanted: (WriteReference) -> Bool
    ) throws(StoreError) -> [WriteReference] {
        try self.flush()
        let statement = try self.statements[.supersededWrites]
        defer { statement.reset() }
        statement.bind(1, key.rowNumber)
        var found: [WriteReference] = []
        while found.count < limit, try statement.step() {
            let write = try self.write(statement)
            if isWanted(write) { found.append(write) }
        }
        return found
    }

    private static func bind(_ erasure: PendingErasure, to statement: Statement) {
        statement.bind(1, erasure.key.rowNumber)
        statement.bind(2, erasure.change.segment.rawValue)
        statement.bind(3, bits: erasure.change.sequence)
    }
}
