package import Engine
internal import NIOConcurrencyHelpers

/// What waits for the node: events of the transports and writes of local callers, in the order of their arrival.
///
/// All writes that have gathered when the driver comes to them become durable together.
package final class NodeInbox: Sendable {
    package struct Content {
        var writes: [WriteRequest] = []
        var events: [Event] = []

        var isEmpty: Bool { self.writes.isEmpty && self.events.isEmpty }
    }

    private let content = NIOLockedValueBox(Content())
    /// Yields when there is something; one pending yield stands for any number of arrivals.
    package let arrivals: AsyncStream<Void>
    private let bell: AsyncStream<Void>.Continuation

    package init() {
        (self.arrivals, self.bell) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    package func post(_ event: Event) {
        self.content.withLockedValue { $0.events.append(event) }
        self.bell.yield()
    }

    package func post(_ write: WriteRequest) {
        self.content.withLockedValue { $0.writes.append(write) }
        self.bell.yield()
    }

    /// Has the driver look whether there is something to do.
    func ring() { self.bell.yield() }

    /// Everything that is there.
    package func take() -> Content {
        self.content.withLockedValue { content in
            let taken = content
            content = Content()
            return taken
        }
    }

    /// Ends `arrivals`.
    package func close() {
        self.bell.finish()
    }
}
