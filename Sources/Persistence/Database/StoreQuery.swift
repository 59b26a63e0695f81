import Synchronization

/// A statement of the hot path, which a `StatementCache` compiles once for each connection.
///
/// The statements are values, in a file for each subject in `Queries`.
struct StoreQuery: Equatable {
    let sql: String
    /// The place in every cache.
    ///
    /// It depends on which statement was used first, so nothing else may depend on it.
    let number: Int

    private static let count = Atomic(0)

    init(_ sql: String) {
        self.sql = sql
        self.number = StoreQuery.count.wrappingAdd(1, ordering: .relaxed).oldValue
    }

    static func == (left: StoreQuery, right: StoreQuery) -> Bool { left.number == right.number }
}
