package import CRDTCore
package import Engine

extension SQLiteTransaction {
    package func rememberedWrite(_ name: String) throws(StoreError) -> RememberedWrite? {
        try self.statements[.rememberedWrite].first(name) { row throws(StoreError) in
            let bytes = row.bytes(1)
            guard bytes.count.isMultiple(of: Bytes16.byteCount) else {
                throw .damaged("a remembered write in the database names an object by half an id")
            }
            let created = stride(from: 0, to: bytes.count, by: Bytes16.byteCount).compactMap { place in
                Bytes16(bytes[place..<place + Bytes16.byteCount]).map { ObjectID(bytes: $0) }
            }
            return RememberedWrite(content: try row.hash(0), created: created)
        }
    }

    package func remember(_ write: RememberedWrite, as name: String) throws(StoreError) {
        let created = write.created.flatMap { $0.bytes.array }
        let number = try self.statements[.rememberWrite].first(name, write.content.bytes, created) { $0.int64(0) } ?? 0
        // Numbers follow each other, as the newest rows stay.
        guard number > RememberedWrite.countMin, number.isMultiple(of: Int64(RememberedWrite.surplusCountMax)) else {
            return
        }
        try self.statements[.forgetWrites].run(number - Int64(RememberedWrite.countMin))
    }
}
