internal import CRDTCore
internal import NIOConcurrencyHelpers
internal import NIOHTTP1
internal import PeerdKit

/// The actions that requests belong to.
///
/// A request is an action by itself, of the program that its header `Peerd-Program` names. Those with the same
/// `Peerd-Action` are one: a page that writes while something is dragged has one undo for all of it.
final class RequestedActions: Sendable {
    private struct Name: Hashable {
        var program: String
        var action: String
    }

    private struct Named {
        var actions: [Name: RunningAction] = [:]
        /// The one that was asked for last comes last.
        var order: [Name] = []
    }

    private let named = NIOLockedValueBox(Named())

    /// So many are remembered; whoever comes back to another one begins a new action.
    private static let countMax = 256
    private static let nameByteCountMax = 64

    /// The action of a request.
    ///
    /// - Throws: ``Problem`` if a name is too long, or no text in percent-encoding.
    func action(of head: RequestHead) throws(Problem) -> RunningAction {
        let program = try Self.text(of: "Peerd-Program", head)
        return try self.action(named: try Self.text(of: "Peerd-Action", head), by: program)
    }

    /// The action with a name that a program gives it; without one, a new action.
    ///
    /// - Throws: ``Problem`` if a name is too long, or has control characters.
    func action(named action: String?, by program: String?) throws(Problem) -> RunningAction {
        try Self.check(program, "program", upTo: Limits.labelByteCountMax)
        try Self.check(action, "action", upTo: Self.nameByteCountMax)
        guard let action else { return RunningAction(program ?? "") }
        let name = Name(program: program ?? "", action: action)
        return self.named.withLockedValue { named in
            named.order.removeAll { $0 == name }
            named.order.append(name)
            if named.order.count > Self.countMax { named.actions[named.order.removeFirst()] = nil }
            if let known = named.actions[name] { return known }
            let new = RunningAction(name.program)
            named.actions[name] = new
            return new
        }
    }

    private static func text(of field: String, _ head: RequestHead) throws(Problem) -> String? {
        let values = head.headers[field]
        guard values.count < 2 else { throw .badRequest("The field \(field) is there more than once.") }
        guard let value = values.first else { return nil }
        guard let text = PercentCoding.decoded(Substring(value)) else {
            throw .badRequest("The field \(field) is not UTF-8 in percent-encoding.")
        }
        return text
    }

    private static func check(_ name: String?, _ what: String, upTo byteCountMax: Int) throws(Problem) {
        guard let name else { return }
        guard name.utf8.count <= byteCountMax,
            !name.unicodeScalars.contains(where: { $0.properties.generalCategory == .control })
        else {
            throw .badRequest("The name of the \(what) has control characters, or more than \(byteCountMax) bytes.")
        }
    }
}

extension Response {
    /// The same answer, whose body is written as part of an action: what is long is done meanwhile.
    func written(in action: RunningAction) -> Response {
        guard case .stream(let write) = self.body else { return self }
        var response = self
        response.body = .stream { writer in try await action.perform { try await write(writer) } }
        return response
    }
}
