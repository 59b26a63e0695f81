internal import CRDTCore

extension Value {
    /// The value that a VALUE on the command line stands for: JSON, or else the text itself.
    ///
    /// - Throws: ``CommandFailure`` for JSON that no value can hold.
    init(argument text: String) throws(CommandFailure) {
        switch JSON.parse(Array(text.utf8), numbers: .exact) {
        case .success(let json): self = Value(json)
        case .failure(let failure):
            switch failure.reason {
            case .notJSON: self = .string(text)
            case .numberTooLarge:
                throw Self.refusal(of: text, "is beyond the range of a number")
            case .numberTooSmall:
                throw Self.refusal(of: text, "is so close to zero that it would be stored as zero")
            case .integerTooLarge:
                throw Self.refusal(of: text, "has an integer beyond 64 bits, which would lose digits")
            case .tooDeep:
                throw CommandFailure(.usage, "A VALUE has at most \(JSON.depthMax) levels of arrays and objects.")
            }
        }
    }

    private static func refusal(of text: String, _ reason: String) -> CommandFailure {
        CommandFailure(.usage, "\(text) \(reason). Write it as text, in quotation marks: '\"\(text)\"'.")
    }
}

/// NAME=VALUE, the value as it was typed.
struct Assignment: Hashable, Sendable {
    var name: String
    var value: String
}

extension Assignment {
    /// Splits NAME=VALUE at the first equals sign; nil if there is none, or no name before it.
    init?(argument: String) {
        guard let separator = argument.firstIndex(of: "="), separator > argument.startIndex else { return nil }
        self.init(
            name: String(argument[..<separator]),
            value: String(argument[argument.index(after: separator)...])
        )
    }

    /// The assignments of a command line.
    static func parse(_ arguments: [String]) throws -> [Assignment] {
        try arguments.map { argument in
            guard let assignment = Assignment(argument: argument) else {
                throw CommandFailure(.usage, "\"\(argument)\" is not of the form NAME=VALUE.")
            }
            return assignment
        }
    }

    /// The values by name; of two values for one name the last counts.
    static func json(_ assignments: [Assignment]) throws(CommandFailure) -> JSON {
        var members: [ExactText: JSON] = [:]
        for assignment in assignments {
            members[ExactText(assignment.name)] = try Value(argument: assignment.value).json
        }
        return .object(members)
    }
}
