package import CRDTCore
package import Engine

extension SQLiteTransaction {
    package func rememberedWrite(_ name: String) throws(StoreError) -> RememberedWrite? {
        let statement = try self.statements[.rememberedWrite]
        defer { statement.reset() }
        statement.bind(1, name)
        guard try statement.step() else { return nil }
        let bytes = statement.bytes(1)
        guard bytes.count.isMultiple(of: Bytes16.byteCount) else {
            throw .damaged("a remembered write in the database names an object by half an id")
        }
        let created = stride(from: 0, to: bytes.count, by: Bytes16.byteCount).compactMap { place in
            Bytes16(bytes[place..<place + Bytes16.byteCount]).map { ObjectID(bytes: $0) }
        }
        return RememberedWrite(content: try statement.hash(0), created: created)
    }

    package func remember(_ write: RememberedWrite, as name: String) throws(StoreError) {
        let number = try self.insert(write, as: name)
        // Numbers follow each other, as the newest rows stay.
        guard number > RememberedWrite.countMin, number.isMultiple(of: Int64(RememberedWrite.surplusCountMax)) else {
            return
        }
        let statement = try self.statements[.forgetWrites]
        statement.bind(1, number - Int64(RememberedWrite.countMin))
        try statement.run()
    }

    /// Returns the number of the new row.
    private func insert(_ write: RememberedWrite, as name: String) throws(StoreError) -> Int64 {
        let statement = try self.statements[.rememberWrite]
        defer { statement.reset() }
        statement.bind(1, name)
        statement.bind(2, write.content.bytes.array)
        var created: [UInt8] = []
        for object in write.created { object.bytes.append(to: &created) }
        statement.bind(3, created)
        return try statement.step() ? statement.int64(0) : 0
    }
}
