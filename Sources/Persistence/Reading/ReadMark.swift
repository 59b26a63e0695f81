/// Which committed state somebody has read, so that he need not read it twice.
///
/// SQLite counts the commits of others for each connection, so a mark says nothing to another reader.
package struct ReadMark: Hashable, Sendable {
    let reader: ObjectIdentifier
    let dataVersion: Int64
}

/// What a read comes to that has been done before.
package enum ReadAnswer<Content> {
    /// Nothing has been committed since.
    case unchanged
    /// What was read, and its mark; nil if the next read has to be done in any case.
    case content(Content, ReadMark?)
}
