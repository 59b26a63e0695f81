/// One step from a schema to the next: SQL that is never edited once released.
struct SchemaMigration: Sendable {
    /// The `user_version` of a database that has this step.
    let version: Int32
    let sql: String

    /// Every step, in order.
    ///
    /// A new database takes all of them, an older one those it lacks.
    static let all: [SchemaMigration] = [.first, .second, .third, .fourth, .fifth, .sixth, .seventh, .eighth]
}
