/// The many NAME=VALUE arguments of one command line.
///
/// The argument parser takes time that grows with the square of the number of positional arguments: with 20,000 of
/// them a quarter of a minute. It is given the first ones, and the command gets the rest from here.
enum TrailingAssignments {
    /// The assignments behind those that the parser was given.
    @TaskLocal static var rest: [String] = []

    /// So many are left to the parser, the value of an option before them included.
    static let parsedCountMax = 64
    private static let verbs: Set<String> = ["create", "set"]

    /// Divides a command line into what is parsed and the assignments at its end.
    ///
    /// - Complexity: O(*n*) in the arguments.
    static func divided(_ arguments: [String]) -> (parsed: [String], rest: [String]) {
        guard let verb = arguments.first, self.verbs.contains(verb) else { return (arguments, []) }
        let count = arguments.reversed().prefix { !$0.hasPrefix("-") && $0.contains("=") }.count
        guard count > self.parsedCountMax else { return (arguments, []) }
        let parsedCount = arguments.count - count + self.parsedCountMax
        return (Array(arguments.prefix(parsedCount)), Array(arguments.dropFirst(parsedCount)))
    }
}
