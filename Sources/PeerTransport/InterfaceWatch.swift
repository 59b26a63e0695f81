/// Notices that this machine has got other addresses: it was moved to another network, or was given a new one.
package struct InterfaceWatch: Sendable {
    private let task: Task<Void, Never>

    private static let interval = Duration.seconds(1)
    /// For so many intervals after a change it is told again: a new IPv6 address cannot be used at once.
    private static let settlingCount = 2

    /// Begins to watch; `changed` is called with all addresses that there are.
    package init(_ changed: @escaping @Sendable (Set<String>) -> Void) {
        self.task = Task {
            var known = LocalInterfaces.hosts
            var settling = 0
            while (try? await Task.sleep(for: Self.interval)) != nil {
                let hosts = LocalInterfaces.hosts
                settling = hosts == known ? max(0, settling - 1) : Self.settlingCount
                known = hosts
                if settling > 0 { changed(hosts) }
            }
        }
    }

    /// Ends watching.
    package func stop() { self.task.cancel() }
}

extension LocalInterfaces {
    /// Every address of this machine.
    static var hosts: Set<String> { Set(self.all().map(\.host)) }
}
