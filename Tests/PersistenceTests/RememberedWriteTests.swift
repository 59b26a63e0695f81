import CRDTCore
import Engine
import Persistence
import Testing

struct RememberedWriteTests {
    private static func write(_ number: UInt64, objectCount: UInt64 = 1) -> RememberedWrite {
        RememberedWrite(
            content: Hash256(bytes: Bytes32(number, 1, 2, 3)),
            created: (0..<objectCount).map { object(number * 1_000_000 + $0) }
        )
    }

    @Test func `a write is found under its exact name, also after closing`() throws {
        let directory = try TemporaryDirectory()
        var store = try SQLiteStoreHandle(directory)
        // A name is a sequence of bytes: the first two are equal for people, and others for C.
        let names = ["\u{e9}", "e\u{301}", "a", "a\0b", "", "A"]
        try store.write { transaction throws(StoreError) in
            for (number, name) in names.enumerated() {
                let write = Self.write(UInt64(number), objectCount: UInt64(number) * 100)
                #expect(try transaction.rememberedWrite(name) == nil)
                try transaction.remember(write, as: name)
                #expect(try transaction.rememberedWrite(name) == write)
            }
        }
        for _ in 0..<2 {
            try store.read { transaction throws(StoreError) in
                for (number, name) in names.enumerated() {
                    let write = Self.write(UInt64(number), objectCount: UInt64(number) * 100)
                    #expect(try transaction.rememberedWrite(name) == write)
                }
                #expect(try transaction.rememberedWrite("b") == nil)
            }
            store.close()
            store = try SQLiteStoreHandle(directory)
        }
    }

    @Test func `a transaction that fails remembers nothing`() throws {
        let store = try SQLiteStoreHandle(try TemporaryDirectory())
        #expect(throws: StoreError.diskFull) {
            try store.write { transaction throws(StoreError) in
                try transaction.remember(Self.write(1), as: "a")
                throw .diskFull
            }
        }
        try store.write { transaction throws(StoreError) in
            #expect(try transaction.rememberedWrite("a") == nil)
            try transaction.remember(Self.write(2), as: "a")
        }
        try store.read { transaction throws(StoreError) in
            #expect(try transaction.rememberedWrite("a") == Self.write(2))
        }
    }

    /// Remembers more writes than are kept, and looks for the first, the newest, and those between.
    private static func fill(_ transaction: inout some NodeTransaction) throws(StoreError) {
        let count = RememberedWrite.countMin + 2 * RememberedWrite.surplusCountMax + 7
        for number in 1...count {
            try transaction.remember(self.write(UInt64(number)), as: "\(number)")
        }
        var keptCount = 0
        for number in 1...count {
            let found = try transaction.rememberedWrite("\(number)")
            #expect(found == nil || found == self.write(UInt64(number)))
            if found != nil { keptCount += 1 }
            #expect(found != nil || number <= count - RememberedWrite.countMin, "\(number) is one of the newest")
        }
        #expect(keptCount < RememberedWrite.countMin + RememberedWrite.surplusCountMax)
        #expect(keptCount >= RememberedWrite.countMin)
    }

    @Test func `the newest writes are kept, and not many more`() throws {
        let directory = try TemporaryDirectory()
        let store = try SQLiteStoreHandle(directory)
        try store.write { transaction throws(StoreError) in try Self.fill(&transaction) }
        store.close()
        #expect(try directory.shell("SELECT count(*) BETWEEN 65536 AND 65791 FROM remembered_write") == "1")
        var memory = MemoryStore(origin: Author.origin)
        try memory.write { transaction throws(StoreError) in try Self.fill(&transaction) }
    }

    @Test func `a rebuild of the state forgets no write`() throws {
        let store = try SQLiteStoreHandle(try TemporaryDirectory())
        try store.write { transaction throws(StoreError) in
            try transaction.remember(Self.write(1), as: "a")
            try transaction.clearDerivedState()
        }
        try store.read { transaction throws(StoreError) in
            #expect(try transaction.rememberedWrite("a") == Self.write(1))
        }
    }
}
