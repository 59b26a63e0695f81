import CRDTCore
import CSQLite

/// A prepared statement of the hot path.
///
/// It is owned by `StatementCache`; this is only a handle.
///
/// Every use binds all parameters, steps, and resets.
struct Statement {
    private let handle: OpaquePointer
    /// How many parameters come before the first that is meant.
    private var offset: Int32 = 0

    /// Tells SQLite to copy what is bound, for buffers that do not outlive the call.
    private static let copied = unsafeBitCast(-1, to: sqlite3_destructor_type.self)

    init(handle: OpaquePointer) { self.handle = handle }

    /// The same statement, which takes several rows, with the parameters of one of them.
    func row(_ number: Int32, of columnCount: Int32) -> Statement {
        var statement = self
        statement.offset = number * columnCount
        return statement
    }

    // MARK: - Binding

    /// Binds a value from a parameter on, counted from 1.
    func bind(_ position: Int32, _ value: some Bindable) { value.bind(to: self, at: position) }

    /// Binds values from the first parameter on, one behind the other.
    func bindAll<each Value: Bindable>(_ values: repeat each Value) {
        var position: Int32 = 1
        for value in repeat each values {
            value.bind(to: self, at: position)
            position += value.parameterCount
        }
    }

    func bindNull(_ position: Int32) { sqlite3_bind_null(self.handle, self.offset + position) }

    func bind(_ position: Int32, integer: Int64) { sqlite3_bind_int64(self.handle, self.offset + position, integer) }

    func bind(_ position: Int32, double: Double) { sqlite3_bind_double(self.handle, self.offset + position, double) }

    func bind(_ position: Int32, copying bytes: UnsafeRawBufferPointer) {
        self.bind(position, bytes, destructor: Statement.copied)
    }

    func bind(_ position: Int32, copyingText bytes: UnsafeRawBufferPointer) {
        self.bindText(position, bytes, destructor: Statement.copied)
    }

    /// Binds a blob that stays where it is until the statement has been stepped.
    func bind(_ position: Int32, borrowing bytes: UnsafeRawBufferPointer) {
        self.bind(position, bytes, destructor: nil)
    }

    /// Binds text that stays where it is until the statement has been stepped.
    func bind(_ position: Int32, borrowingText bytes: UnsafeRawBufferPointer) {
        self.bindText(position, bytes, destructor: nil)
    }

    private func bind(_ position: Int32, _ bytes: UnsafeRawBufferPointer, destructor: sqlite3_destructor_type?) {
        if let start = bytes.baseAddress, !bytes.isEmpty {
            sqlite3_bind_blob64(self.handle, self.offset + position, start, UInt64(bytes.count), destructor)
        } else {
            // A null pointer would bind NULL.
            sqlite3_bind_zeroblob(self.handle, self.offset + position, 0)
        }
    }

    private func bindText(_ position: Int32, _ bytes: UnsafeRawBufferPointer, destructor: sqlite3_destructor_type?) {
        let position = self.offset + position
        if let start = bytes.baseAddress, !bytes.isEmpty {
            let text = start.assumingMemoryBound(to: CChar.self)
            sqlite3_bind_text64(self.handle, position, text, UInt64(bytes.count), destructor, UInt8(SQLITE_UTF8))
        } else {
            sqlite3_bind_text64(self.handle, position, "", 0, Statement.copied, UInt8(SQLITE_UTF8))
        }
    }

    // MARK: - Whole uses

    /// Runs a statement that returns no rows, with values for its parameters, and makes it ready for the next use.
    func run<each Value: Bindable>(_ values: repeat each Value) throws(StoreError) {
        self.bindAll(repeat each values)
        _ = try self.step()
        self.reset()
    }

    /// What is read of the first row; nil if there is none.
    func first<Content, each Value: Bindable>(
        _ values: repeat each Value,
        read: (Statement) throws(StoreError) -> Content
    ) throws(StoreError) -> Content? {
        self.bindAll(repeat each values)
        defer { self.reset() }
        return try self.step() ? try read(self) : nil
    }

    /// What is read of each row.
    func rows<Content, each Value: Bindable>(
        _ values: repeat each Value,
        read: (Statement) throws(StoreError) -> Content
    ) throws(StoreError) -> [Content] {
        self.bindAll(repeat each values)
        defer { self.reset() }
        var contents: [Content] = []
        while try self.step() { contents.append(try read(self)) }
        return contents
    }

    // MARK: - Stepping

    /// Moves to the next row; false after the last one.
    func step() throws(StoreError) -> Bool {
        switch sqlite3_step(self.handle) {
        case SQLITE_ROW: return true
        case SQLITE_DONE: return false
        case let code:
            let error = StoreError(resultCode: code, connection: sqlite3_db_handle(self.handle))
            self.reset()
            throw error
        }
    }

    func reset() { sqlite3_reset(self.handle) }

    // MARK: - Columns of the current row

    func int64(_ column: Int32) -> Int64 { sqlite3_column_int64(self.handle, column) }

    /// A number whose bit pattern was bound.
    func bits(_ column: Int32) -> UInt64 { UInt64(bitPattern: self.int64(column)) }

    func uint32(_ column: Int32) -> UInt32 { UInt32(truncatingIfNeeded: self.int64(column)) }

    func bool(_ column: Int32) -> Bool { self.int64(column) != 0 }

    func double(_ column: Int32) -> Double { sqlite3_column_double(self.handle, column) }

    func isNull(_ column: Int32) -> Bool { self.type(column) == SQLITE_NULL }

    func type(_ column: Int32) -> Int32 { sqlite3_column_type(self.handle, column) }

    /// The bytes of a blob or text; valid until the next step or reset.
    func borrowedBytes(_ column: Int32) -> UnsafeRawBufferPointer {
        let start = sqlite3_column_blob(self.handle, column)
        return UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(self.handle, column)))
    }

    func bytes(_ column: Int32) -> [UInt8] { Array(self.borrowedBytes(column)) }

    func text(_ column: Int32) -> String { String(decoding: self.borrowedBytes(column), as: UTF8.self) }

    func bytes16(_ column: Int32) throws(StoreError) -> Bytes16 {
        let bytes = self.borrowedBytes(column)
        guard bytes.count == Bytes16.byteCount else { throw .damaged("an id in the database has the wrong length") }
        return Bytes16(
            high: UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 0, as: UInt64.self)),
            low: UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
        )
    }

    func object(_ column: Int32) -> ObjectIndex { ObjectIndex(rawValue: self.uint32(column)) }

    func name(_ column: Int32) -> NameIndex { NameIndex(rawValue: self.uint32(column)) }

    func objectID(_ column: Int32) throws(StoreError) -> ObjectID {
        let characters = self.bytes(column)
        // Another way to write an id would not be found by it.
        guard let id = ObjectID(characters: characters), id.characters == characters else {
            throw .damaged("an id in the database is not written as ids are")
        }
        return id
    }

    func bytes32(_ column: Int32) throws(StoreError) -> Bytes32 {
        let bytes = self.borrowedBytes(column)
        guard bytes.count == Bytes32.byteCount else {
            throw .damaged("a hash or key in the database has the wrong length")
        }
        func word(_ offset: Int) -> UInt64 {
            UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
        }
        return Bytes32(word(0), word(8), word(16), word(24))
    }

    func hash(_ column: Int32) throws(StoreError) -> Hash256 { Hash256(bytes: try self.bytes32(column)) }
}
