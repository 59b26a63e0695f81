/// How a command's data is wanted.
struct OutputFormat: Hashable, Codable, Sendable {
    var isJSON: Bool
    /// Whether a person is looking: only then is output decorated.
    var isTerminal: Bool
}
