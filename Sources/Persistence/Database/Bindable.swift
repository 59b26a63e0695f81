import CRDTCore

/// A value that a statement can be given, for one parameter or for several that follow each other.
protocol Bindable {
    /// How many parameters it takes.
    static var parameterCount: Int32 { get }

    /// Binds it from a parameter on.
    func bind(to statement: Statement, at position: Int32)
}

extension Bindable {
    static var parameterCount: Int32 { 1 }

    /// The same, for a value of a pack: the optimiser of Swift 6.3 fails over the metatype of one.
    var parameterCount: Int32 { Self.parameterCount }
}

extension Optional: Bindable where Wrapped: Bindable {
    static var parameterCount: Int32 { Wrapped.parameterCount }

    func bind(to statement: Statement, at position: Int32) {
        if let value = self { return value.bind(to: statement, at: position) }
        for place in 0..<Wrapped.parameterCount { statement.bindNull(position + place) }
    }
}

// MARK: - SQLite's own types

extension Bindable where Self: BinaryInteger {
    /// Binds the bit pattern: SQLite's integers are signed.
    func bind(to statement: Statement, at position: Int32) {
        statement.bind(position, integer: Int64(truncatingIfNeeded: self))
    }
}

extension Int: Bindable {}
extension Int64: Bindable {}
extension UInt8: Bindable {}
extension UInt16: Bindable {}
extension UInt32: Bindable {}
extension UInt64: Bindable {}

extension Bool: Bindable {
    func bind(to statement: Statement, at position: Int32) { statement.bind(position, integer: self ? 1 : 0) }
}

extension Double: Bindable {
    func bind(to statement: Statement, at position: Int32) { statement.bind(position, double: self) }
}

extension String: Bindable {
    func bind(to statement: Statement, at position: Int32) {
        var text = self
        text.withUTF8 { statement.bind(position, copyingText: UnsafeRawBufferPointer($0)) }
    }
}

extension [UInt8]: Bindable {
    func bind(to statement: Statement, at position: Int32) {
        self.withUnsafeBytes { statement.bind(position, copying: $0) }
    }
}

// MARK: - Ids and numbers

extension Bytes16: Bindable {
    func bind(to statement: Statement, at position: Int32) {
        withUnsafeBytes(of: (self.high.bigEndian, self.low.bigEndian)) { statement.bind(position, copying: $0) }
    }
}

extension Bytes32: Bindable {
    func bind(to statement: Statement, at position: Int32) { self.array.bind(to: statement, at: position) }
}

extension ObjectID: Bindable {
    /// Binds the text of the id.
    func bind(to statement: Statement, at position: Int32) {
        self.characters.withUnsafeBytes { statement.bind(position, copyingText: $0) }
    }
}

extension RegisterKey: Bindable {
    func bind(to statement: Statement, at position: Int32) { statement.bind(position, self.rowNumber) }
}

extension Stamp: Bindable {
    func bind(to statement: Statement, at position: Int32) { statement.bind(position, self.rawValue) }
}

extension WallTime: Bindable {
    func bind(to statement: Statement, at position: Int32) { statement.bind(position, self.milliseconds) }
}

extension Bindable where Self: RawRepresentable, RawValue: Bindable {
    func bind(to statement: Statement, at position: Int32) { statement.bind(position, self.rawValue) }
}

extension SegmentIndex: Bindable {}
extension ObjectIndex: Bindable {}
extension CircleIndex: Bindable {}
extension NameIndex: Bindable {}
extension OperationKind: Bindable {}
extension VersionStatus: Bindable {}
extension Redaction: Bindable {}

// MARK: - Places in the log

extension SegmentPoint: Bindable {
    static let parameterCount: Int32 = 2

    func bind(to statement: Statement, at position: Int32) {
        statement.bind(position, self.segment)
        statement.bind(position + 1, self.sequence)
    }
}

extension WriteReference: Bindable {
    static let parameterCount: Int32 = 4

    func bind(to statement: Statement, at position: Int32) {
        statement.bind(position, self.stamp)
        statement.bind(position + 1, self.point)
        statement.bind(position + 3, self.index)
    }
}
