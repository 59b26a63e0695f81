import PeerdKit

/// What the user has chosen, as the first version of the application knows it.
public struct Settings: Codable, Hashable, Sendable {
    /// The document, at the application's object.
    public static let property = Property<Settings>("settings")

    /// The name of the colours.
    public var theme = "light"

    /// What is there until somebody chooses.
    public init() {}
}

/// The same, as a later version knows it: a member that may be missing needs no migration, and the first version keeps
/// what it does not know.
public struct LaterSettings: Codable, Hashable, Sendable {
    /// The document, at the application's object.
    public static let property = Property<LaterSettings>("settings")

    /// The name of the colours.
    public var theme = "light"
    /// The first day of the week, from 1 for Monday; nil until somebody has chosen.
    public var weekStart: Int?

    /// What is there until somebody chooses.
    public init() {}
}
