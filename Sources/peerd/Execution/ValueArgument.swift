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
            case .repeatedMember:
                throw Self.refusal(of: text, "has two members of one name in one object")
            case .tooDeep:
                throw CommandFailure(.usage, "A VALUE has at most \(JSON.depthMax) levels of arrays and objects.")
            }
        }
    }

    private static func refusal(of text: String, _ reason: String) -> CommandFailure {
        let quoted = JSON.string(text).canonicalText.replacing("'", with: #"'\''"#)
        return CommandFailure(.usage, "\(text) \(reason). Write it as text, in quotation marks: '\(quoted)'.")
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

    /// The values by name.
    ///
    /// - Throws: ``CommandFailure`` for a value that cannot be stored, or if there are two for one name.
    static func json(_ assignments: [Assignment]) throws(CommandFailure) -> JSON {
        var members: [ExactText: JSON] = [:]
        for assignment in assignments {
            let value = try Value(argument: assignment.value).json
            if members.updateValue(value, forKey: ExactText(assignment.name)) != nil {
                throw CommandFailure(.usage, "There are two values for \"\(assignment.name)\"; nothing was written.")
            }
        }
        return .object(members)
    }
}
