internal import CRDTCore

extension Value {
    /// The value that a VALUE on the command line stands for: JSON, or else the text itself.
    init(argument text: String) {
        self = JSON(parsing: text.utf8).map { Value($0) } ?? .string(text)
    }
}

extension Request.Assignment {
    /// Splits NAME=VALUE at the first equals sign; nil if there is none, or no name before it.
    init?(argument: String) {
        guard let separator = argument.firstIndex(of: "="), separator > argument.startIndex else { return nil }
        self.init(
            name: String(argument[..<separator]),
            value: String(argument[argument.index(after: separator)...])
        )
    }

    /// The assignments of a command line.
    static func parse(_ arguments: [String]) throws -> [Request.Assignment] {
        try arguments.map { argument in
            guard let assignment = Request.Assignment(argument: argument) else {
                throw CommandFailure(.usage, "\"\(argument)\" is not of the form NAME=VALUE.")
            }
            return assignment
        }
    }
}
