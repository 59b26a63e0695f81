/// The many NAME=VALUE arguments of one command line.
///
/// The argument parser takes time that grows with the square of the number of positional arguments: with 20,000 of
/// them a quarter of a minute. It is given the first ones, and the command gets the rest from here.
enum SetAsideAssignments {
    /// The assignments that the parser was not given.
    @TaskLocal static var rest: [String] = []

    /// So many are left to the parser, the value of an option before them included.
    static let parsedCountMax = 64
    private static let verbs: Set<String> = ["create", "set"]

    /// Divides a command line into what is parsed and assignments of the longest stretch of them, wherever it stands.
    ///
    /// - Complexity: O(*n*) in the arguments.
    static func divided(_ arguments: [String]) -> (parsed: [String], rest: [String]) {
        guard let verb = arguments.first, self.verbs.contains(verb) else { return (arguments, []) }
        var (longest, current) = (0..<0, 0..<0)
        for (position, argument) in arguments.enumerated() {
            let isAssignment = !argument.hasPrefix("-") && argument.contains("=")
            current = isAssignment ? current.lowerBound..<position + 1 : position + 1..<position + 1
            if current.count > longest.count { longest = current }
        }
        guard longest.count > self.parsedCountMax else { return (arguments, []) }
        let rest = longest.dropFirst(self.parsedCountMax)
        return (Array(arguments[..<rest.lowerBound] + arguments[rest.upperBound...]), Array(arguments[rest]))
    }
}
